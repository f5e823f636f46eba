/* What a function of a region has been given, the fields of `.omp_data_i`, is read once, where the function begins.

   Without optimization a field is read at each use of its variable, and with it at those under a condition or behind a
   call: no address would stay the same in a loop then.  A field that the function neither writes nor gives away has
   the value it began with: all threads that have the structure run this function.

   Included once, by loops.cc.  */

/* A field that is read, and where.  */
struct field_read
{
  tree field, ref;
  auto_vec<gimple *> loads;
  auto_vec<gimple *> addresses; /* that calls tell of */
  bool changes;                 /* or may */
};

class given_fields
{
public:
  ~given_fields ();
  void read_once ();

private:
  bool collect (tree given);
  bool look (gimple *stmt, tree given);
  void look_address (gimple *stmt, field_read *f);
  field_read *find (tree ref, tree given);
  void read (field_read *f);

  auto_vec<field_read *> fields;
};

given_fields::~given_fields ()
{
  for (field_read *f : fields)
    delete f;
}

/* What REF, a field of what GIVEN points to, is of; NULL: it is something else.  */
field_read *
given_fields::find (tree ref, tree given)
{
  if (TREE_CODE (ref) != COMPONENT_REF || TREE_CODE (TREE_OPERAND (ref, 0)) != MEM_REF)
    return NULL;
  tree whole = TREE_OPERAND (ref, 0), field = TREE_OPERAND (ref, 1);
  if (TREE_OPERAND (whole, 0) != given || !integer_zerop (TREE_OPERAND (whole, 1)))
    return NULL;
  for (field_read *f : fields)
    if (f->field == field)
      return f;
  field_read *f = new field_read ();
  f->field = field;
  f->ref = ref;
  f->changes = TREE_THIS_VOLATILE (ref) || DECL_BIT_FIELD (field) || !is_gimple_reg_type (TREE_TYPE (ref));
  fields.safe_push (f);
  return f;
}

/* STMT has a field's address: for calls that tell of reads, or for others.  */
void
given_fields::look_address (gimple *stmt, field_read *f)
{
  use_operand_p use;
  imm_use_iterator uses;
  tree address = gimple_assign_lhs (stmt);
  bool writes = true;
  if (TREE_CODE (address) != SSA_NAME)
    f->changes = true;
  else
    FOR_EACH_IMM_USE_FAST (use, uses, address)
      {
	gimple *user = USE_STMT (use);
	if (!is_gimple_debug (user) && (!is_gimple_call (user) || !accessed (user, &writes) || writes))
	  f->changes = true;
      }
  f->addresses.safe_push (stmt);
}

/* A statement that uses GIVEN.  False: it may do anything with the fields.  */
bool
given_fields::look (gimple *stmt, tree given)
{
  bool writes = true;
  field_read *f;
  if (is_gimple_debug (stmt))
    return true;
  if (is_gimple_call (stmt)) /* the address of the first field, as it is the structure's */
    return accessed (stmt, &writes) != 0 && !writes;
  if (!gimple_assign_single_p (stmt))
    return false;
  tree to = gimple_assign_lhs (stmt), from = gimple_assign_rhs1 (stmt);
  if (TREE_CODE (from) == ADDR_EXPR && (f = find (TREE_OPERAND (from, 0), given)))
    look_address (stmt, f);
  else if (TREE_CODE (to) == SSA_NAME && (f = find (from, given)))
    {
      f->loads.safe_push (stmt);
      f->changes |= SSA_NAME_OCCURS_IN_ABNORMAL_PHI (to) || stmt_could_throw_p (cfun, stmt);
    }
  else if ((is_gimple_min_invariant (from) || TREE_CODE (from) == SSA_NAME) && from != given && (f = find (to, given)))
    f->changes = true;
  else
    return false;
  return true;
}

bool
given_fields::collect (tree given)
{
  use_operand_p use;
  imm_use_iterator uses;
  FOR_EACH_IMM_USE_FAST (use, uses, given)
    if (!look (USE_STMT (use), given))
      return false;
  return true;
}

/* Read a field at the begin of the function, and nowhere else.  The calls that tell of its reads follow it.  */
void
given_fields::read (field_read *f)
{
  tree value = make_ssa_name (TREE_TYPE (f->ref));
  gimple_seq seq = NULL;
  auto_vec<gimple *> gone;
  use_operand_p use;
  imm_use_iterator uses;
  gimple *told = NULL;
  for (gimple *stmt : f->addresses)
    {
      FOR_EACH_IMM_USE_FAST (use, uses, gimple_assign_lhs (stmt))
	if (!is_gimple_debug (USE_STMT (use)))
	  gone.safe_push (told = USE_STMT (use));
      gone.safe_push (stmt);
    }
  if (told)
    {
      gcall *call = gimple_build_call (gimple_call_fndecl (told), 1,
				       operand (build_fold_addr_expr (unshare_expr (f->ref)), ptr_type_node, &seq));
      gimple_set_location (call, gimple_location (told));
      gimple_seq_add_stmt (&seq, call);
    }
  gimple *load = gimple_build_assign (value, unshare_expr (f->ref));
  gimple_set_location (load, gimple_location (f->loads[0]));
  gimple_seq_add_stmt (&seq, load);
  for (gimple *stmt : f->loads)
    {
      replace_uses_by (gimple_assign_lhs (stmt), value);
      gone.safe_push (stmt);
    }
  for (gimple *stmt : gone)
    {
      gimple_stmt_iterator gsi = gsi_for_stmt (stmt);
      unlink_stmt_vdef (stmt);
      gsi_remove (&gsi, true);
      release_defs (stmt);
    }
  gsi_insert_seq_on_edge_immediate (single_succ_edge (ENTRY_BLOCK_PTR_FOR_FN (cfun)), seq);
}

void
given_fields::read_once ()
{
  tree parameter = DECL_ARGUMENTS (cfun->decl);
  if (!parameter || !DECL_NAME (parameter) || strcmp (IDENTIFIER_POINTER (DECL_NAME (parameter)), ".omp_data_i") != 0)
    return;
  tree given = ssa_default_def (cfun, parameter);
  if (!given || !collect (given))
    return;
  bool any = false;
  for (field_read *f : fields)
    if (!f->changes && !f->loads.is_empty ())
      {
	read (f);
	any = true;
      }
  if (!any)
    return;
  mark_virtual_operands_for_renaming (cfun);
  update_ssa (TODO_update_ssa);
}
