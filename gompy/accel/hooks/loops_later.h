/* Accesses of a loop that happen in some of its iterations, or until it is left early: they are told behind it.

   Where they happen in some, the copy of the loop that has no calls notes which: a byte for each iteration, in memory
   of the thread's.  Where the loop can be left early, what is told is how many iterations there were.

   Included once, by loops.cc.  */

/* Of one that happens in some iterations: whether all that it may be is good.  */
tree
loop_of_accesses::ask_ahead (later &d, tree before, gimple_seq *seq)
{
  int kind = d.a.size | (d.a.writes ? WRITES : 0) | (others_read ? ALONE : 0) | (early ? EARLY : 0);
  d.base = operand (d.a.iv.base, ptr_type_node, seq);
  d.step = operand (d.a.iv.step, long_integer_type_node, seq);
  d.n = times (true, seq);
  gcall *call
    = gimple_build_call (decl_of (AHEAD), 5, d.base, d.step, d.n, build_int_cst (integer_type_node, kind), before);
  return answer_of (call, gimple_location (d.a.call), seq);
}

/* VALUE in a name of its own.  */
tree
named (tree_code code, tree type, tree one, tree other, gimple_seq *seq)
{
  tree name = make_ssa_name (type);
  gimple_seq_add_stmt (seq, gimple_build_assign (name, code, one, other));
  return name;
}

/* The number of the iteration, from 0 on.  */
tree
loop_of_accesses::count_iterations ()
{
  gimple_stmt_iterator gsi;
  bool after;
  tree iteration, type = long_unsigned_type_node;
  standard_iv_increment_position (l, &gsi, &after);
#if GCCPLUGIN_VERSION_MAJOR >= 14
  create_iv (build_zero_cst (type), PLUS_EXPR, build_one_cst (type), NULL_TREE, l, &gsi, after, &iteration, NULL);
#else
  create_iv (build_zero_cst (type), build_one_cst (type), NULL_TREE, l, &gsi, after, &iteration, NULL);
#endif
  return iteration;
}

/* Have the blocks that do not always run say when they do, and have that told behind the loop.  */
void
loop_of_accesses::note_iterations (tree iteration)
{
  gimple_seq behind = NULL;
  for (unsigned i = 0; i < slots.length (); i++)
    {
      gimple_seq seq = NULL;
      tree place = named (POINTER_PLUS_EXPR, ptr_type_node, places[i], iteration, &seq);
      tree byte = build2 (MEM_REF, char_type_node, place, build_zero_cst (build_pointer_type (char_type_node)));
      gimple_seq_add_stmt (&seq, gimple_build_assign (byte, build_one_cst (char_type_node)));
      gimple_stmt_iterator gsi = gsi_after_labels (slots[i]);
      gsi_insert_seq_before (&gsi, seq, GSI_SAME_STMT);
    }
  for (int writes = 0; writes < 2; writes++)
    for (later &d : laters)
      if (d.a.writes == (writes != 0))
	{
	  tree kind = build_int_cst (integer_type_node, d.a.size | (writes ? WRITES : 0));
	  gcall *call = gimple_build_call (decl_of (SOME), 5, d.base, d.step, d.n, kind, places[d.slot]);
	  gimple_set_location (call, gimple_location (d.a.call));
	  gimple_seq_add_stmt (&behind, call);
	}
  gimple_seq_add_stmt (&behind, gimple_build_call (decl_of (CLEAR), 2, taken, taken_size));
  gsi_insert_seq_on_edge_immediate (single_exit (l), behind);
}

/* Have what happened until the loop is left told at each of its exits.  */
void
loop_of_accesses::note_at_exits (tree iteration)
{
  auto_vec<edge> exits = get_loop_exit_edges (l);
  calculate_dominance_info (CDI_DOMINATORS);
  auto_vec<gimple_seq> sequences;
  for (edge exit : exits)
    {
      gimple_seq seq = NULL;
      for (int writes = 0; writes < 2; writes++)
	for (later &d : laters)
	  if (d.a.writes == (writes != 0))
	    {
	      tree kind = build_int_cst (integer_type_node, d.a.size | (writes ? WRITES : 0) | EARLY);
	      tree n = iteration;
	      if (dominated_by_p (CDI_DOMINATORS, exit->src, gimple_bb (d.a.call)))
		n = named (PLUS_EXPR, long_unsigned_type_node, n, build_one_cst (long_unsigned_type_node), &seq);
	      gcall *call = gimple_build_call (decl_of (DONE), 4, d.base, d.step, n, kind);
	      gimple_set_location (call, gimple_location (d.a.call));
	      gimple_seq_add_stmt (&seq, call);
	    }
      sequences.safe_push (seq);
    }
  for (unsigned i = 0; i < exits.length (); i++)
    gsi_insert_seq_on_edge_immediate (exits[i], sequences[i]);
}
