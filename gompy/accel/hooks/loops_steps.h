/* Accesses that go on where they were last: compiled code looks at the thread's steps by itself, and calls nothing.

   A row of statements, or an access that stands alone, is a site.  Each thread has steps for sites (gompy_step of
   gompy/native/access.h); the byte at a site says which, and several sites may have the same: a step says whose it is.
   Where each access is a step forwards, and not behind the end of its walk, the steps are moved.  Otherwise a call is
   made, and the runtime begins a walk or looks at what is there.

   gompy_access_steps (gompy/access/hooks.c) is 0 until a thread has called, and on the host always.

   Included once, by loops.cc.  */

const unsigned STEPS = 4;	       /* GOMPY_* of access.h, and of gompy_step where its members are */
const unsigned STEP_BYTES = 64;
const unsigned SITES = 256;
const unsigned STEP_SITE = 0;
const unsigned STEP_NEXT = 8;
const unsigned STEP_END = 16;
const unsigned MOST_ALONE = 64; /* accesses of a function that get a site each */

tree step_word; /* their members' type, which nothing else aliases */
tree steps_decl;
const ggc_root_tab STEP_ROOTS[] = {
  { &step_word, 1, sizeof step_word, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node },
  { &steps_decl, 1, sizeof steps_decl, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node },
  LAST_GGC_ROOT_TAB
};

/* Whether code looks at steps: f951 does not know of a thread's pointer.  */
bool
has_steps ()
{
  return optimize && !optimize_debug && builtin_decl_explicit (BUILT_IN_THREAD_POINTER)
	 && TYPE_PRECISION (long_unsigned_type_node) == 64;
}

class site_of_code
{
public:
  site_of_code ();
  tree has_any (gimple_seq *seq) const;
  tree goes_on (const tree *places, const unsigned *sizes, unsigned n, tree distance, gimple_seq *seq);
  void move (basic_block where) const;
  tree address () const { return build_fold_addr_expr (decl); }

private:
  tree member (unsigned step, unsigned which) const;
  tree load (unsigned step, unsigned which, gimple_seq *seq) const;

  static unsigned made;
  tree decl, table;
  unsigned number;
  auto_vec<tree> nexts;
};

unsigned site_of_code::made;

site_of_code::site_of_code () : table (NULL_TREE)
{
  if (!step_word)
    {
      step_word = build_distinct_type_copy (long_unsigned_type_node);
      TYPE_ALIAS_SET (step_word) = new_alias_set ();
      steps_decl = build_decl (BUILTINS_LOCATION, VAR_DECL, get_identifier ("gompy_access_steps"),
			       long_integer_type_node);
      DECL_EXTERNAL (steps_decl) = TREE_PUBLIC (steps_decl) = TREE_USED (steps_decl) = 1;
      DECL_ARTIFICIAL (steps_decl) = 1;
      DECL_VISIBILITY (steps_decl) = VISIBILITY_HIDDEN;
      DECL_VISIBILITY_SPECIFIED (steps_decl) = 1;
    }
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (cfun->decl));
  number = (htab_hash_string (name) + made++) % SITES;
  decl = build_decl (BUILTINS_LOCATION, VAR_DECL, create_tmp_var_name ("gompy_site"), unsigned_char_type_node);
  TREE_STATIC (decl) = TREE_ADDRESSABLE (decl) = TREE_USED (decl) = 1;
  DECL_ARTIFICIAL (decl) = DECL_IGNORED_P (decl) = 1;
  DECL_INITIAL (decl) = build_int_cst (unsigned_char_type_node, number);
  varpool_node::finalize_decl (decl);
}

/* What is not 0 where the process has steps.  */
tree
site_of_code::has_any (gimple_seq *seq) const
{
  tree distance = make_ssa_name (long_integer_type_node);
  gimple_seq_add_stmt (seq, gimple_build_assign (distance, steps_decl));
  return distance;
}

tree
site_of_code::member (unsigned step, unsigned which) const
{
  unsigned at = (number * STEPS + step) * STEP_BYTES + which;
  return build2 (MEM_REF, step_word, table, build_int_cst (build_pointer_type (step_word), at));
}

tree
site_of_code::load (unsigned step, unsigned which, gimple_seq *seq) const
{
  tree name = make_ssa_name (step_word);
  gimple_seq_add_stmt (seq, gimple_build_assign (name, member (step, which)));
  return name;
}

/* Whether each of N accesses, of SIZES at PLACES, is a step forwards.  DISTANCE is what has_any has.  */
tree
site_of_code::goes_on (const tree *places, const unsigned *sizes, unsigned n, tree distance, gimple_seq *seq)
{
  tree thread = make_ssa_name (ptr_type_node), word = make_ssa_name (step_word), fine = NULL_TREE;
  gcall *call = gimple_build_call (builtin_decl_explicit (BUILT_IN_THREAD_POINTER), 0);
  gimple_call_set_lhs (call, thread);
  gimple_seq_add_stmt (seq, call);
  tree offset = make_ssa_name (sizetype);
  gimple_seq_add_stmt (seq, gimple_build_assign (offset, NOP_EXPR, distance));
  tree place = named (POINTER_PLUS_EXPR, ptr_type_node, thread, offset, seq);
  tree pointer = build2 (MEM_REF, step_word, place, build_zero_cst (build_pointer_type (step_word)));
  gimple_seq_add_stmt (seq, gimple_build_assign (word, pointer));
  table = make_ssa_name (ptr_type_node);
  gimple_seq_add_stmt (seq, gimple_build_assign (table, NOP_EXPR, word));
  tree own = make_ssa_name (step_word);
  gimple_seq_add_stmt (seq, gimple_build_assign (own, NOP_EXPR, address ()));
  fine = named (EQ_EXPR, boolean_type_node, load (0, STEP_SITE, seq), own, seq);
  for (unsigned i = 0; i < n; i++)
    {
      tree size = build_int_cst (step_word, sizes[i]), from = make_ssa_name (step_word);
      gimple_seq_add_stmt (seq, gimple_build_assign (from, NOP_EXPR, places[i]));
      nexts.safe_push (named (PLUS_EXPR, step_word, from, size, seq));
      tree beyond = named (MINUS_EXPR, step_word, nexts[i], load (i, STEP_NEXT, seq), seq);
      beyond = named (PLUS_EXPR, step_word, beyond, build_int_cst (step_word, -1), seq);
      tree near = named (LT_EXPR, boolean_type_node, beyond, size, seq);
      tree within = named (LE_EXPR, boolean_type_node, nexts[i], load (i, STEP_END, seq), seq);
      fine = named (BIT_AND_EXPR, boolean_type_node, fine, near, seq);
      fine = named (BIT_AND_EXPR, boolean_type_node, fine, within, seq);
    }
  return fine;
}

/* All of them were.  */
void
site_of_code::move (basic_block where) const
{
  gimple_seq seq = NULL;
  for (unsigned i = 0; i < nexts.length (); i++)
    gimple_seq_add_stmt (&seq, gimple_build_assign (member (i, STEP_NEXT), nexts[i]));
  gimple_stmt_iterator gsi = gsi_last_bb (where);
  gsi_insert_seq_after (&gsi, seq, GSI_CONTINUE_LINKING);
}

/* Have FROM ask by SEQ, and go by YES where the answer is not 0.  */
void
decide (basic_block from, gimple_seq seq, tree answer, edge yes, edge no)
{
  gimple_stmt_iterator gsi = gsi_last_bb (from);
  gcond *cond = gimple_build_cond (NE_EXPR, answer, build_zero_cst (TREE_TYPE (answer)), NULL_TREE, NULL_TREE);
  gsi_insert_seq_after (&gsi, seq, GSI_CONTINUE_LINKING);
  gsi_insert_after (&gsi, cond, GSI_NEW_STMT);
  yes->flags = (yes->flags & ~EDGE_FALLTHRU) | EDGE_TRUE_VALUE;
  no->flags = (no->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  yes->probability = profile_probability::very_likely ();
  no->probability = profile_probability::very_unlikely ();
}

/* Have a call that tells of one access made only where that is no step forwards.  */
void
give_site (gcall *call)
{
  gimple_seq first = NULL, then = NULL;
  bool writes;
  unsigned size = accessed (call, &writes);
  site_of_code site;
  tree place = gimple_call_arg (call, 0), distance = site.has_any (&first);
  tree fine = site.goes_on (&place, &size, 1, distance, &then);
  basic_block before = gimple_bb (call);
  gimple_stmt_iterator gsi = gsi_for_stmt (call);
  gsi_prev (&gsi);
  edge to_call = gsi_end_p (gsi) ? split_block_after_labels (before) : split_block (before, gsi_stmt (gsi));
  basic_block told = to_call->dest, rest = split_block (told, call)->dest, look = split_edge (to_call);
  decide (before, first, distance, single_succ_edge (before), make_edge (before, told, 0));
  edge no = single_succ_edge (look), yes = make_edge (look, rest, 0);
  decide (look, then, fine, yes, no);
  site.move (split_edge (yes));
  tree kind = build_int_cst (integer_type_node, size | (writes ? WRITES : 0));
  gcall *one = gimple_build_call (decl_of (ONE), 3, place, kind, site.address ());
  gimple_set_location (one, gimple_location (call));
  gsi = gsi_for_stmt (call);
  gsi_insert_before (&gsi, one, GSI_SAME_STMT);
  remove_call (call);
}

/* The accesses that are told of one by one get a site each, but for those of COLD blocks.  Whether there are any.  */
bool
give_sites (hash_set<basic_block> &cold)
{
  auto_vec<gcall *> calls;
  basic_block block;
  bool writes;
  if (!has_steps ())
    return false;
  FOR_EACH_BB_FN (block, cfun)
    if (!cold.contains (block) && (!block->loop_father || !block->loop_father->dont_vectorize))
      for (gimple_stmt_iterator gsi = gsi_start_bb (block); !gsi_end_p (gsi); gsi_next (&gsi))
	{
	  gcall *call = dyn_cast<gcall *> (gsi_stmt (gsi));
	  if (call && accessed (call, &writes) && calls.length () < MOST_ALONE)
	    calls.safe_push (call);
	}
  for (gcall *call : calls)
    give_site (call);
  return !calls.is_empty ();
}
