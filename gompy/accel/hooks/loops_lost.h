/* What a region assigns to a scalar that it was only given a copy of, and the host reads afterwards: it is lost.

   Since OpenMP 4.5 a scalar that no clause names is firstprivate on target; OpenACC has the same for parallel.  The
   program then prints the value from before, on every device, and nothing else tells.

   Before regions are lowered their assignments are collected.  When there are blocks, the ways from each region's end
   are followed: a read that no assignment comes before is told.  What another function may have assigned meanwhile is
   not; nor is a copy for the next region.  */

/* A scalar of a region's, and where that assigns it.  */
struct lost_scalar
{
  unsigned uid;        /* the host's variable */
  location_t region;   /* its directive */
  location_t assigned;
  bool acc;
};

vec<lost_scalar> lost_scalars; /* of the function whose regions are lowered last */
bool lost_is_told = true, lost_is_error; /* -Wno-offload-lost, -Werror=offload-lost */

/* A walk over a region's statements for assignments to one variable.  */
struct lost_walk
{
  tree var;
  location_t assigned;
};

/* What a construct within the region does to the variable: 'r' the region's own is assigned at its end, 'p' the
   construct has one of its own, 0 none of these.  */
char
treatment (tree clauses, tree var)
{
  for (tree c = clauses; c; c = OMP_CLAUSE_CHAIN (c))
    switch (OMP_CLAUSE_CODE (c))
      {
      case OMP_CLAUSE_REDUCTION:
      case OMP_CLAUSE_IN_REDUCTION:
      case OMP_CLAUSE_TASK_REDUCTION:
      case OMP_CLAUSE_LASTPRIVATE:
	if (OMP_CLAUSE_DECL (c) == var)
	  return 'r';
	break;
      case OMP_CLAUSE_LINEAR:
      case OMP_CLAUSE_PRIVATE:
      case OMP_CLAUSE_FIRSTPRIVATE:
	if (OMP_CLAUSE_DECL (c) == var)
	  return 'p';
	break;
      default:
	break;
      }
  return 0;
}

tree
look_for_assignment (gimple_stmt_iterator *gsi, bool *handled, walk_stmt_info *info)
{
  gimple *stmt = gsi_stmt (*gsi);
  lost_walk *walk = static_cast<lost_walk *> (info->info);
  tree lhs = is_gimple_assign (stmt) || is_gimple_call (stmt) ? gimple_get_lhs (stmt) : NULL_TREE;
  tree clauses = NULL_TREE;
  location_t here = UNKNOWN_LOCATION;
  switch (gimple_code (stmt))
    {
    case GIMPLE_OMP_PARALLEL:
    case GIMPLE_OMP_TASK:
      clauses = gimple_omp_taskreg_clauses (stmt);
      break;
    case GIMPLE_OMP_FOR:
      clauses = gimple_omp_for_clauses (stmt);
      break;
    case GIMPLE_OMP_TEAMS:
      clauses = gimple_omp_teams_clauses (as_a<gomp_teams *> (stmt));
      break;
    case GIMPLE_OMP_SECTIONS:
      clauses = gimple_omp_sections_clauses (stmt);
      break;
    case GIMPLE_OMP_SCOPE:
      clauses = gimple_omp_scope_clauses (stmt);
      break;
    case GIMPLE_OMP_TASKGROUP:
      clauses = gimple_omp_taskgroup_clauses (stmt);
      break;
    case GIMPLE_OMP_SINGLE:
      clauses = gimple_omp_single_clauses (stmt);
      break;
    case GIMPLE_OMP_ATOMIC_LOAD:
      lhs = gimple_omp_atomic_load_rhs (as_a<gomp_atomic_load *> (stmt));
      lhs = TREE_CODE (lhs) == ADDR_EXPR ? TREE_OPERAND (lhs, 0) : NULL_TREE;
      break;
    default:
      break;
    }
  if (lhs == walk->var && !gimple_clobber_p (stmt))
    here = gimple_location (stmt);
  if (char what = treatment (clauses, walk->var))
    {
      if (what == 'r')
	here = gimple_location (stmt);
      *handled = true; /* what is in it has another variable of that name */
    }
  if (here == UNKNOWN_LOCATION)
    return NULL_TREE;
  walk->assigned = here;
  *handled = true;
  return walk->var;
}

/* A statement of the host's: collect what is lost in a region.  */
tree
look_for_region (gimple_stmt_iterator *gsi, bool *handled, walk_stmt_info *)
{
  gimple *stmt = gsi_stmt (*gsi);
  if (gimple_code (stmt) != GIMPLE_OMP_TARGET)
    return NULL_TREE;
  const int kind = gimple_omp_target_kind (stmt);
  const bool acc = kind == GF_OMP_TARGET_KIND_OACC_PARALLEL || kind == GF_OMP_TARGET_KIND_OACC_SERIAL;
  if (kind != GF_OMP_TARGET_KIND_REGION && !acc)
    return NULL_TREE;
  *handled = true;
  for (tree c = gimple_omp_target_clauses (stmt); c; c = OMP_CLAUSE_CHAIN (c))
    if (OMP_CLAUSE_CODE (c) == OMP_CLAUSE_FIRSTPRIVATE && OMP_CLAUSE_FIRSTPRIVATE_IMPLICIT (c))
      {
	tree var = OMP_CLAUSE_DECL (c);
	tree type = TREE_TYPE (var);
	if (!DECL_NAME (var) || DECL_ARTIFICIAL (var) || DECL_HAS_VALUE_EXPR_P (var)
	    || !(INTEGRAL_TYPE_P (type) || SCALAR_FLOAT_TYPE_P (type)))
	  continue;
	lost_walk walk = { var, UNKNOWN_LOCATION };
	walk_stmt_info info;
	memset (&info, 0, sizeof info);
	info.info = &walk;
	if (walk_gimple_seq (gimple_omp_body (stmt), look_for_assignment, NULL, &info))
	  lost_scalars.safe_push ({ DECL_UID (var), gimple_location (stmt), walk.assigned, acc });
      }
  return NULL_TREE;
}

/* What the host does with the variable in a statement.  */
enum use { NOTHING, READ, FORGET };

struct use_walk
{
  unsigned uid;
  bool value, address;
};

tree
look_for_use (tree *at, int *subtrees, void *data)
{
  use_walk *walk = static_cast<use_walk *> (static_cast<walk_stmt_info *> (data)->info);
  if (TREE_CODE (*at) == ADDR_EXPR && DECL_P (TREE_OPERAND (*at, 0)))
    {
      walk->address |= DECL_UID (TREE_OPERAND (*at, 0)) == walk->uid;
      *subtrees = 0;
    }
  else if (DECL_P (*at) && DECL_UID (*at) == walk->uid)
    walk->value = true;
  return NULL_TREE;
}

/* Whether an assignment is to what GCC hands to a region, or to threads; it may be converted first.  */
bool
hands_on (gimple_stmt_iterator gsi)
{
  for (tree value = NULL_TREE; !gsi_end_p (gsi); gsi_next_nondebug (&gsi))
    {
      gimple *stmt = gsi_stmt (gsi);
      if (!gimple_assign_single_p (stmt) && !gimple_assign_cast_p (stmt))
	return false;
      if (value && gimple_assign_rhs1 (stmt) != value)
	return false;
      value = gimple_assign_lhs (stmt);
      tree base = get_base_address (value);
      if (base && DECL_P (base) && DECL_NAME (base)
	  && strncmp (IDENTIFIER_POINTER (DECL_NAME (base)), ".omp_data", 9) == 0)
	return true;
      if (!DECL_P (value) || DECL_NAME (value))
	return false;
    }
  return false;
}

/* Whether a statement assigns to the variable, or may, by another way than its name on the left: an asm, the host's
   atomic, a pointer or reference.  */
bool
assigns_otherwise (gimple *stmt, tree var)
{
  if (is_gimple_assign (stmt) && (is_global_var (var) || TREE_ADDRESSABLE (var)))
    {
      tree base = get_base_address (gimple_assign_lhs (stmt));
      if (base && !DECL_P (base) && TREE_CODE (base) != SSA_NAME
	  && TYPE_MAIN_VARIANT (TREE_TYPE (gimple_assign_lhs (stmt))) == TYPE_MAIN_VARIANT (TREE_TYPE (var)))
	return true;
    }
  if (gimple_code (stmt) == GIMPLE_OMP_ATOMIC_LOAD)
    {
      tree of = gimple_omp_atomic_load_rhs (as_a<gomp_atomic_load *> (stmt));
      return TREE_CODE (of) == ADDR_EXPR && TREE_OPERAND (of, 0) == var;
    }
  if (const gasm *code = dyn_cast<gasm *> (stmt))
    for (unsigned i = 0; i < gimple_asm_noutputs (code); i++)
      if (TREE_VALUE (gimple_asm_output_op (code, i)) == var)
	return true;
  return false;
}

/* The name of a function of Fortran's library that is called, without its prefix; "" of others.  */
const char *
of_fortran (const gimple *stmt)
{
  tree decl = is_gimple_call (stmt) ? gimple_call_fndecl (stmt) : NULL_TREE;
  const char *name = decl && DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "";
  return strncmp (name, "_gfortran_", 10) == 0 ? name + 10 : "";
}

/* Whether a call prints what it is given the address of.  */
bool
prints (const gimple *stmt)
{
  const char *name = of_fortran (stmt), *end = strstr (name, "_write");
  return strncmp (name, "transfer_", 9) == 0 && end && end[6] == 0;
}

use
use_in (gimple_stmt_iterator gsi, tree var)
{
  gimple *stmt = gsi_stmt (gsi);
  if (!is_gimple_assign (stmt) && assigns_otherwise (stmt, var))
    return FORGET;
  if (is_gimple_debug (stmt) || gimple_code (stmt) == GIMPLE_LABEL || is_gimple_omp (stmt))
    return NOTHING;
  if (gimple_clobber_p (stmt))
    return gimple_assign_lhs (stmt) == var ? FORGET : NOTHING;
  tree lhs = is_gimple_assign (stmt) || is_gimple_call (stmt) ? gimple_get_lhs (stmt) : NULL_TREE;
  use_walk walk = { DECL_UID (var), false, false };
  walk_stmt_info info;
  memset (&info, 0, sizeof info);
  info.info = &walk;
  for (unsigned i = lhs ? 1 : 0; i < gimple_num_ops (stmt); i++)
    if (tree *op = gimple_op_ptr (stmt, i))
      if (*op)
	walk_tree (op, look_for_use, &info, NULL);
  if (walk.address)
    return prints (stmt) ? READ : FORGET;
  if (walk.value)
    return hands_on (gsi) ? NOTHING : READ;
  if (lhs == var || assigns_otherwise (stmt, var))
    return FORGET;
  if (is_gimple_call (stmt) && (is_global_var (var) || TREE_ADDRESSABLE (var))
      && !gimple_call_builtin_p (stmt, BUILT_IN_NORMAL) && !*of_fortran (stmt))
    return FORGET; /* that function may have assigned it */
  return NOTHING;
}

/* The last assignment in a block to a variable, or NULL; *OTHERWISE: something else may have assigned it since.  */
gimple *
last_assignment (basic_block block, tree var, bool *otherwise)
{
  for (gimple_stmt_iterator gsi = gsi_last_bb (block); !gsi_end_p (gsi) && !*otherwise; gsi_prev (&gsi))
    {
      gimple *stmt = gsi_stmt (gsi);
      if ((is_gimple_assign (stmt) || is_gimple_call (stmt)) && gimple_get_lhs (stmt) == var)
	return stmt;
      *otherwise = assigns_otherwise (stmt, var);
    }
  return NULL;
}

/* The constant that a value of the host's is at the end of BLOCK, where one way alone leads there; or NULL.  */
tree
constant_after (basic_block block, tree value)
{
  bool otherwise = false;
  if (CONSTANT_CLASS_P (value))
    return value;
  if (!DECL_P (value) || is_global_var (value) || TREE_ADDRESSABLE (value))
    return NULL_TREE;
  for (unsigned i = 0; i < 64 && !otherwise; i++, block = single_pred (block))
    {
      gimple *stmt = last_assignment (block, value, &otherwise);
      if (stmt)
	{
	  tree last = gimple_assign_single_p (stmt) ? gimple_assign_rhs1 (stmt) : NULL_TREE;
	  return last && CONSTANT_CLASS_P (last) ? last : NULL_TREE;
	}
      if (!single_pred_p (block))
	break;
    }
  return NULL_TREE;
}

/* The only edge on which a block that is entered by another can be left, as a loop's condition when it begins;
   NULL: not one is known.  */
edge
only_way (edge entered)
{
  basic_block block = entered->dest;
  gimple *last = gsi_stmt (gsi_last_nondebug_bb (block));
  tree sides[2], holds;
  if (!last || gimple_code (last) != GIMPLE_COND)
    return NULL;
  gcond *cond = as_a<gcond *> (last);
  for (int i = 0; i < 2; i++)
    {
      bool otherwise = false;
      tree value = i ? gimple_cond_rhs (cond) : gimple_cond_lhs (cond);
      if (last_assignment (block, value, &otherwise) || otherwise)
	return NULL;
      sides[i] = constant_after (entered->src, value);
      if (!sides[i])
	return NULL;
    }
  holds = fold_binary (gimple_cond_code (cond), boolean_type_node, sides[0], sides[1]);
  if (!holds || TREE_CODE (holds) != INTEGER_CST)
    return NULL;
  edge e;
  edge_iterator next;
  FOR_EACH_EDGE (e, next, block->succs)
    if (e->flags & (integer_zerop (holds) ? EDGE_FALSE_VALUE : EDGE_TRUE_VALUE))
      return e;
  return NULL;
}

/* How many constructs are left to end behind a block, of the region and those in it; 0: the region is over.  */
int
depth_behind (basic_block block, int depth)
{
  gimple *last = gsi_stmt (gsi_last_nondebug_bb (block));
  if (!depth || !last || !is_gimple_omp (last))
    return depth;
  switch (gimple_code (last))
    {
    case GIMPLE_OMP_RETURN:
    case GIMPLE_OMP_ATOMIC_STORE:
      return depth - 1;
    case GIMPLE_OMP_CONTINUE:
    case GIMPLE_OMP_SECTIONS_SWITCH:
      return depth;
    case GIMPLE_OMP_ORDERED: /* with depend or doacross it stands alone */
      for (tree c = gimple_omp_ordered_clauses (as_a<gomp_ordered *> (last)); c; c = OMP_CLAUSE_CHAIN (c))
	if (OMP_CLAUSE_CODE (c) != OMP_CLAUSE_THREADS && OMP_CLAUSE_CODE (c) != OMP_CLAUSE_SIMD)
	  return depth;
      return depth + 1;
    case GIMPLE_OMP_TASK:
      return depth + !gimple_omp_task_taskwait_p (last);
    default:
      return depth + 1;
    }
}

/* The first statement on a way from a region's end that reads the variable, or NULL.  What the region does itself is
   not looked at.  A block that can be left on one edge alone as it is entered is come to again by others.  */
gimple *
first_read (basic_block region, tree var)
{
  auto_vec<edge> left;
  auto_sbitmap seen (last_basic_block_for_fn (cfun)), led (last_basic_block_for_fn (cfun));
  edge e;
  edge_iterator next;
  auto_vec<int> depths;
  depths.safe_grow_cleared (last_basic_block_for_fn (cfun));
  depths[region->index] = 1;
  bitmap_clear (seen);
  bitmap_clear (led);
  FOR_EACH_EDGE (e, next, region->succs)
    left.safe_push (e);
  while (!left.is_empty ())
    {
      edge entered = left.pop ();
      basic_block block = entered->dest;
      use found = NOTHING;
      if ((entered->flags & EDGE_EH) || block == EXIT_BLOCK_PTR_FOR_FN (cfun))
	continue;
      edge way = bitmap_bit_p (led, entered->src->index) ? NULL : only_way (entered);
      int depth = entered->src == region ? 1 : depth_behind (entered->src, depths[entered->src->index]);
      if (!bitmap_set_bit (way ? led : seen, way ? entered->src->index : block->index))
	continue;
      depths[block->index] = depth;
      for (gimple_stmt_iterator gsi = gsi_start_bb (block); !depth && !gsi_end_p (gsi) && found == NOTHING;
	   gsi_next (&gsi))
	{
	  found = use_in (gsi, var);
	  if (found == READ)
	    return gsi_stmt (gsi);
	}
      if (found == NOTHING && way)
	left.safe_push (way);
      else if (found == NOTHING)
	FOR_EACH_EDGE (e, next, block->succs)
	  left.safe_push (e);
    }
  return NULL;
}

/* Whether two locations are one place; they may tell different ranges there.  */
bool
same_place (location_t a, location_t b)
{
  return LOCATION_LINE (a) == LOCATION_LINE (b) && LOCATION_COLUMN (a) == LOCATION_COLUMN (b)
	 && LOCATION_FILE (a) == LOCATION_FILE (b);
}

#define LOST_TEXT                                                                                                     \
  "what the region assigns to %qD is lost: without a clause it is %<firstprivate%>; %<%s%D)%> or a reduction brings " \
  "it back"

/* Tell what is lost of the region that ends a block.  */
void
tell_lost (basic_block block, const gimple *stmt)
{
  for (const lost_scalar &lost : lost_scalars)
    {
      tree var = NULL_TREE, c;
      if (!same_place (lost.region, gimple_location (stmt)))
	continue;
      for (c = gimple_omp_target_clauses (stmt); c && !var; c = OMP_CLAUSE_CHAIN (c))
	if (OMP_CLAUSE_CODE (c) == OMP_CLAUSE_FIRSTPRIVATE && DECL_UID (OMP_CLAUSE_DECL (c)) == lost.uid)
	  var = OMP_CLAUSE_DECL (c);
      gimple *read = var ? first_read (block, var) : NULL;
      if (!read)
	continue;
      auto_diagnostic_group group;
      const char *clause = lost.acc ? "copy(" : "map(tofrom: ";
      const char *text = lost_is_error ? LOST_TEXT " [-Werror=offload-lost]" : LOST_TEXT " [-Woffload-lost]";
      bool told = true;
      if (lost_is_error)
	error_at (lost.assigned, text, var, clause, var);
      else
	told = warning_at (lost.assigned, 0, text, var, clause, var);
      if (told)
	inform (lost.region, "the region");
      if (told && gimple_location (read) != UNKNOWN_LOCATION)
	inform (gimple_location (read), "%qD is read here", var);
    }
}

const pass_data collect_data = { GIMPLE_PASS, "gompycollect", OPTGROUP_NONE, TV_NONE, PROP_gimple_any, 0, 0, 0, 0 };
const pass_data lost_data = { GIMPLE_PASS, "gompylost", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0 };

/* Before regions are lowered.  */
class pass_collect_lost : public gimple_opt_pass
{
public:
  pass_collect_lost (gcc::context *context) : gimple_opt_pass (collect_data, context) {}
  bool gate (function *) final override { return lost_is_told && (flag_openmp || flag_openacc); }
  unsigned int
  execute (function *f) final override
  {
    walk_stmt_info info;
    memset (&info, 0, sizeof info);
    lost_scalars.truncate (0);
    walk_gimple_seq (gimple_body (f->decl), look_for_region, NULL, &info);
    return 0;
  }
};

/* When there are blocks.  */
class pass_tell_lost : public gimple_opt_pass
{
public:
  pass_tell_lost (gcc::context *context) : gimple_opt_pass (lost_data, context) {}
  bool gate (function *) final override { return !lost_scalars.is_empty (); }
  unsigned int
  execute (function *f) final override
  {
    basic_block block;
    FOR_EACH_BB_FN (block, f)
      for (gimple_stmt_iterator gsi = gsi_start_bb (block); !gsi_end_p (gsi); gsi_next (&gsi))
	if (gimple_code (gsi_stmt (gsi)) == GIMPLE_OMP_TARGET)
	  tell_lost (block, gsi_stmt (gsi));
    lost_scalars.truncate (0);
    return 0;
  }
};
