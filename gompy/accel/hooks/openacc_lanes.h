/* Parts become loops over their lanes, and a region a loop over its gangs (openacc.cc).  */

namespace {


/* for (lane = 0; lane < size; lane++) around what stands between fork and join.  Each lane begins with what there was
   at the fork: that is what an accelerator broadcasts.  */

void
function_lowering::loop_over_lanes (part *p)
{
  gimple_seq before = NULL, begin = NULL, end = NULL, after = NULL;
  tree size = number (false, p->level, &before);
  tree lane = make_ssa_name (integer_type_node), next = make_ssa_name (integer_type_node);

  gimple_stmt_iterator gsi = gsi_for_stmt (p->fork);
  edge entry = split_block (gimple_bb (p->fork), p->fork);
  gsi = gsi_for_stmt (p->fork);
  if (before)
    gsi_insert_seq_after (&gsi, before, GSI_CONTINUE_LINKING);
  basic_block head = split_edge (entry);
  edge into = single_pred_edge (head);

  gsi = gsi_for_stmt (p->join);
  gsi_prev (&gsi);
  basic_block last = gimple_bb (p->join);
  edge leave = gsi_end_p (gsi) ? split_block_after_labels (last) : split_block (last, gsi_stmt (gsi));
  last = leave->src;
  basic_block out = split_edge (leave);
  leave = single_succ_edge (last);

  gimple_seq_add_stmt (&end, gimple_build_assign (next, PLUS_EXPR, lane, integer_one_node));
  gimple_seq_add_stmt (&end, gimple_build_cond (LT_EXPR, next, size, NULL_TREE, NULL_TREE));
  gsi = gsi_last_bb (last);
  gsi_insert_seq_after (&gsi, end, GSI_CONTINUE_LINKING);
  leave->flags = (leave->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  leave->probability = profile_probability::unlikely ();
  edge back = make_edge (last, head, EDGE_TRUE_VALUE);
  back->probability = leave->probability.invert ();

  gphi *phi = create_phi_node (lane, head);
  add_phi_arg (phi, integer_zero_node, into, UNKNOWN_LOCATION);
  add_phi_arg (phi, next, back, UNKNOWN_LOCATION);
  store (p->level, lane, &begin);
  gsi = gsi_after_labels (head);
  gsi_insert_seq_before (&gsi, begin, GSI_SAME_STMT);
  store (p->level, integer_zero_node, &after);
  gsi = gsi_after_labels (out);
  gsi_insert_seq_before (&gsi, after, GSI_SAME_STMT);
}

/* if (gompy_acc_gangs (itself, data, gangs, workers, vectors)) return;
   while (gompy_acc_next_gang ()) body  */

void
function_lowering::loop_over_gangs ()
{
  tree data = DECL_ARGUMENTS (decl);
  tree shared = null_pointer_node;
  gimple_seq seq = NULL;
  if (data)
    shared = get_or_create_ssa_default_def (cfun, data);

  auto_vec<edge> exits;
  edge e;
  edge_iterator ei;
  FOR_EACH_EDGE (e, ei, EXIT_BLOCK_PTR_FOR_FN (cfun)->preds)
    exits.safe_push (e);

  basic_block start = split_edge (single_succ_edge (ENTRY_BLOCK_PTR_FOR_FN (cfun)));
  gcall *call = gimple_build_call (runtime_decls.gangs, 5, build_fold_addr_expr (decl), shared,
				   build_int_cst (integer_type_node, lanes[GOMP_DIM_GANG]),
				   build_int_cst (integer_type_node, lanes[GOMP_DIM_WORKER]),
				   build_int_cst (integer_type_node, lanes[GOMP_DIM_VECTOR]));
  tree done = make_ssa_name (integer_type_node);
  gimple_call_set_lhs (call, done);
  gimple_seq_add_stmt (&seq, call);
  gimple_seq_add_stmt (&seq, gimple_build_cond (NE_EXPR, done, integer_zero_node, NULL_TREE, NULL_TREE));
  gimple_stmt_iterator gsi = gsi_last_bb (start);
  gsi_insert_seq_after (&gsi, seq, GSI_CONTINUE_LINKING);

  edge on = single_succ_edge (start);
  basic_block head = split_edge (on);
  on = single_succ_edge (start);
  seq = NULL;
  call = gimple_build_call (runtime_decls.next, 0);
  tree more = make_ssa_name (integer_type_node);
  gimple_call_set_lhs (call, more);
  gimple_seq_add_stmt (&seq, call);
  gimple_seq_add_stmt (&seq, gimple_build_cond (NE_EXPR, more, integer_zero_node, NULL_TREE, NULL_TREE));
  gsi = gsi_last_bb (head);
  gsi_insert_seq_after (&gsi, seq, GSI_CONTINUE_LINKING);

  basic_block end = create_empty_bb (EXIT_BLOCK_PTR_FOR_FN (cfun)->prev_bb);
  end->count = start->count;
  add_bb_to_loop (end, ENTRY_BLOCK_PTR_FOR_FN (cfun)->loop_father);
  gsi = gsi_last_bb (end);
  gsi_insert_after (&gsi, gimple_build_return (NULL), GSI_CONTINUE_LINKING);
  make_single_succ_edge (end, EXIT_BLOCK_PTR_FOR_FN (cfun), 0);

  on->flags = (on->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  on->probability = profile_probability::even ();
  make_edge (start, end, EDGE_TRUE_VALUE)->probability = profile_probability::even ();
  edge body = single_succ_edge (head);
  body->flags = (body->flags & ~EDGE_FALLTHRU) | EDGE_TRUE_VALUE;
  body->probability = profile_probability::likely ();
  make_edge (head, end, EDGE_FALSE_VALUE)->probability = body->probability.invert ();

  for (edge leave : exits)
    {
      gsi = gsi_last_nondebug_bb (leave->src);
      if (gsi_end_p (gsi) || gimple_code (gsi_stmt (gsi)) != GIMPLE_RETURN)
	continue; /* an exception, or what never ends */
      gsi_remove (&gsi, true);
      redirect_edge_succ (leave, head);
      leave->flags |= EDGE_FALLTHRU;
    }
}

} // namespace
