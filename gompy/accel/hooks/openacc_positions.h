/* What depends on positions, written out: questions, the steps of loops, tiles, and reductions (openacc.cc).  */

namespace {


/* The calling thread's positions and sizes.  */

tree
function_lowering::state (gimple_seq *seq)
{
  gcall *call = gimple_build_call (runtime_decls.lanes, 0);
  tree result = make_ssa_name (build_pointer_type (integer_type_node));
  gimple_call_set_lhs (call, result);
  gimple_seq_add_stmt (seq, call);
  return result;
}

tree
place (tree state, int index)
{
  return build2 (MEM_REF, integer_type_node, state,
		 build_int_cst (TREE_TYPE (state), index * GET_MODE_SIZE (TYPE_MODE (integer_type_node)).to_constant ()));
}

tree
function_lowering::load (int index, gimple_seq *seq)
{
  tree where = place (state (seq), index);
  tree value = make_ssa_name (integer_type_node);
  gimple_seq_add_stmt (seq, gimple_build_assign (value, where));
  return value;
}

void
function_lowering::store (int index, tree value, gimple_seq *seq)
{
  gimple_seq_add_stmt (seq, gimple_build_assign (place (state (seq), index), value));
}

/* A position in a dimension, or its size.  */

tree
function_lowering::number (bool position, unsigned axis, gimple_seq *seq)
{
  if (lanes[axis] == 1)
    return build_int_cst (integer_type_node, !position);
  if (!position && lanes[axis] > 0)
    return build_int_cst (integer_type_node, lanes[axis]);
  return load (position ? axis : SIZES + axis, seq);
}

/* The same of all dimensions in MASK together, the outermost one first.  */

tree
function_lowering::numbers (bool position, unsigned mask, gimple_seq *seq)
{
  tree result = build_int_cst (integer_type_node, !position);
  for (unsigned axis = 0; axis < GOMP_DIM_MAX; axis++)
    if (mask & GOMP_DIM_MASK (axis))
      {
	tree size = number (false, axis, seq);
	result = fold_build2 (MULT_EXPR, integer_type_node, result, size);
	if (position)
	  result = fold_build2 (PLUS_EXPR, integer_type_node, result, number (true, axis, seq));
      }
  return result;
}

/* Put the statements in place of CALL, whose value, if anybody wants it, is VALUE.  */

void
replace (gcall *call, tree value, gimple_seq seq)
{
  gimple_stmt_iterator gsi = gsi_for_stmt (call);
  tree lhs = gimple_call_lhs (call);
  push_gimplify_context (true);
  if (lhs)
    gimplify_assign (lhs, fold_convert (TREE_TYPE (lhs), value), &seq);
  pop_gimplify_context (NULL);
  gsi_replace_with_seq (&gsi, seq, true);
}

void
function_lowering::lower_question (gcall *call, bool position, tree axis)
{
  gimple_seq seq = NULL;
  tree value = integer_zero_node;
  if (gimple_call_lhs (call) && TREE_CODE (axis) == INTEGER_CST && TREE_INT_CST_LOW (axis) < GOMP_DIM_MAX)
    value = number (position, TREE_INT_CST_LOW (axis), &seq);
  replace (call, value, seq);
}

/* How the iterations of a loop go to the lanes of its dimensions.  By default each gang has a block of them, and the
   lanes within it take turns; without gangs all lanes take turns.  gang (static: N) deals chunks of N.
   DIR: 1 or -1; RANGE: of the variable, from its beginning; STEP: from one iteration to the next.  */

void
function_lowering::lower_loop (gcall *call)
{
  int code = TREE_INT_CST_LOW (gimple_call_arg (call, 0));
  tree dir = gimple_call_arg (call, 1), range = gimple_call_arg (call, 2), step = gimple_call_arg (call, 3);
  tree chunk = gimple_call_arg (call, 4);
  tree type = TREE_TYPE (range);
  int mask = (int) TREE_INT_CST_LOW (gimple_call_arg (call, 5));
  mask = mask == -1 ? 0 : mask; /* of a loop that is not partitioned */
  int outer = mask & -mask, inner = mask & ~outer;
  bool dealt = !(integer_zerop (chunk) || integer_minus_onep (chunk)) && !integer_onep (chunk);
  bool turns = integer_onep (chunk) || (!dealt && !(outer & GOMP_DIM_MASK (GOMP_DIM_GANG)));
  gimple_seq seq = NULL;
  tree value = NULL_TREE;
  if (!gimple_call_lhs (call))
    {
      replace (call, NULL_TREE, seq);
      return;
    }
  push_gimplify_context (true);
  auto times = [&] (tree a, tree b) {
    return fold_build2 (MULT_EXPR, type, fold_convert (type, a), fold_convert (type, b));
  };
  auto plus = [&] (tree a, tree b) {
    return fold_build2 (PLUS_EXPR, type, fold_convert (type, a), fold_convert (type, b));
  };
  auto rounds = [&] (tree each) { /* how many times EACH makes the range, rounded up */
    tree rest = fold_build2 (MINUS_EXPR, type, range, fold_convert (type, dir));
    return fold_build2 (TRUNC_DIV_EXPR, type, plus (rest, each), each);
  };
  tree all = numbers (false, mask, &seq);
  auto span = [&] () { /* iterations from one position of the outermost dimension to the next */
    tree each = dealt ? fold_convert (type, chunk) : rounds (times (all, step));
    return times (each, numbers (false, inner, &seq));
  };
  switch (code)
    {
    case IFN_GOACC_LOOP_CHUNKS:
      value = dealt ? rounds (times (times (all, chunk), step)) : build_int_cst (type, 1);
      break;
    case IFN_GOACC_LOOP_STEP:
      value = times (turns ? all : numbers (false, inner, &seq), step);
      break;
    case IFN_GOACC_LOOP_OFFSET:
      if (outer == GOMP_DIM_MASK (GOMP_DIM_VECTOR) && lanes[GOMP_DIM_VECTOR] == 1
	  && (flag_tree_loop_vectorize || !OPTION_SET_P (flag_tree_loop_vectorize)))
	{
	  class loop *body = gimple_bb (call)->loop_father;
	  for (; body; body = body == gimple_bb (call)->loop_father ? body->inner : NULL)
	    {
	      body->force_vectorize = true;
	      body->safelen = INT_MAX;
	    }
	  cfun->has_force_vectorize_loops = true;
	}
      if (turns)
	value = times (numbers (true, mask, &seq), step);
      else
	{
	  value = plus (times (numbers (true, outer, &seq), span ()), numbers (true, inner, &seq));
	  if (dealt)
	    value = plus (value, times (times (all, chunk), gimple_call_arg (call, 6)));
	  value = times (value, step);
	}
      break;
    case IFN_GOACC_LOOP_BOUND:
      value = range;
      if (!turns)
	value = fold_build2 (integer_onep (dir) ? MIN_EXPR : MAX_EXPR, type, range,
			     plus (times (span (), step), gimple_call_arg (call, 6)));
      break;
    default:
      gcc_unreachable ();
    }
  pop_gimplify_context (NULL);
  replace (call, value, seq);
}

/* How long the part of a tile is that belongs to one of its loops.  One iteration, where nobody can tell: omp-expand.cc
   (expand_oacc_collapse_vars) goes wrong with others if a loop's length is no multiple of the tile's.  */

void
function_lowering::lower_tile (gcall *call)
{
  int mask = (int) TREE_INT_CST_LOW (gimple_call_arg (call, 4)); /* of the loops within a tile */
  tree size = gimple_call_arg (call, 2);
  gimple_seq seq = NULL;
  bool vectors = mask > 0 && mask & GOMP_DIM_MASK (GOMP_DIM_VECTOR) && real (GOMP_DIM_VECTOR);
  bool workers = mask > 0 && mask & GOMP_DIM_MASK (GOMP_DIM_WORKER) && real (GOMP_DIM_WORKER);
  if (!vectors && !workers)
    size = integer_one_node;
  else if (integer_zerop (size))
    {
      /* The innermost loop has the innermost dimension, the one around it the other one.  */
      HOST_WIDE_INT loops = TREE_INT_CST_LOW (gimple_call_arg (call, 0));
      HOST_WIDE_INT loop = TREE_INT_CST_LOW (gimple_call_arg (call, 1));
      bool outer = vectors && workers && loop + 2 == loops;
      size = number (false, vectors && !outer ? GOMP_DIM_VECTOR : GOMP_DIM_WORKER, &seq);
      if (loops == 1 && vectors && workers)
	size = fold_build2 (MULT_EXPR, integer_type_node, size, number (false, GOMP_DIM_WORKER, &seq));
    }
  replace (call, size, seq);
}

/* VARIABLE, combined with what a FINI call has.  */

tree
function_lowering::combined (tree variable, gcall *call, gimple_seq *seq)
{
  tree value = gimple_call_arg (call, 2);
  tree type = TREE_TYPE (value);
  tree_code op = (tree_code) TREE_INT_CST_LOW (gimple_call_arg (call, 4));
  tree before = make_ssa_name (type), after = make_ssa_name (type);
  gimple_seq_add_stmt (seq, gimple_build_assign (before, unshare_expr (variable)));
  push_gimplify_context (true);
  gimplify_assign (after, fold_build2 (op, type, before, value), seq);
  pop_gimplify_context (NULL);
  return after;
}

/* Of gangs: each begins with the neutral value, and adds its own to the result's variable at the end.  */

void
function_lowering::lower_gang_reduction (gcall *call, int code, gimple_seq *seq)
{
  tree result = gimple_call_arg (call, 1);
  if (code != IFN_GOACC_REDUCTION_FINI || integer_zerop (result))
    return;
  gimple_seq_add_stmt (seq, gimple_build_call (builtin_decl_explicit (BUILT_IN_GOMP_ATOMIC_START), 0));
  tree sum = combined (build_simple_mem_ref (result), call, seq);
  gimple_seq_add_stmt (seq, gimple_build_assign (build_simple_mem_ref (result), sum));
  gimple_seq_add_stmt (seq, gimple_build_call (builtin_decl_explicit (BUILT_IN_GOMP_ATOMIC_END), 0));
}

/* Of lanes, which follow each other: a variable collects.  */

void
function_lowering::lower_lane_reduction (gcall *call, int code, gimple_seq *seq)
{
  bool at_fork = code == IFN_GOACC_REDUCTION_SETUP || code == IFN_GOACC_REDUCTION_INIT;
  bool before = code == IFN_GOACC_REDUCTION_SETUP || code == IFN_GOACC_REDUCTION_FINI;
  gcall *marker = find_marker (call, at_fork ? IFN_UNIQUE_OACC_FORK : IFN_UNIQUE_OACC_JOIN, before);
  part *p = marker ? part_of (marker) : NULL;
  tree result = gimple_call_arg (call, 1), value = gimple_call_arg (call, 2), offset = gimple_call_arg (call, 5);
  tree variable = NULL_TREE;
  if (!p)
    return;
  for (auto &known : p->sums)
    if (tree_int_cst_equal (known.first, offset))
      variable = known.second;
  if (!variable)
    {
      variable = create_tmp_var (TREE_TYPE (value), "oacc_sum");
      TREE_ADDRESSABLE (variable) = 1; /* in memory: it outlives a lane */
      p->sums.safe_push (std::make_pair (offset, variable));
    }
  switch (code)
    {
    case IFN_GOACC_REDUCTION_SETUP:
      if (!integer_zerop (result))
	{
	  tree from = make_ssa_name (TREE_TYPE (value));
	  gimple_seq_add_stmt (seq, gimple_build_assign (from, build_simple_mem_ref (result)));
	  value = from;
	}
      gimple_seq_add_stmt (seq, gimple_build_assign (variable, value));
      if (gimple_call_lhs (call))
	gimple_seq_add_stmt (seq, gimple_build_assign (gimple_call_lhs (call), value));
      break;
    case IFN_GOACC_REDUCTION_FINI:
      gimple_seq_add_stmt (seq, gimple_build_assign (variable, combined (variable, call, seq)));
      break;
    case IFN_GOACC_REDUCTION_TEARDOWN:
      {
	tree sum = make_ssa_name (TREE_TYPE (value));
	gimple_seq_add_stmt (seq, gimple_build_assign (sum, variable));
	if (!integer_zerop (result))
	  gimple_seq_add_stmt (seq, gimple_build_assign (build_simple_mem_ref (result), sum));
	if (gimple_call_lhs (call))
	  gimple_seq_add_stmt (seq, gimple_build_assign (gimple_call_lhs (call), sum));
      }
      break;
    default:
      break;
    }
}

void
function_lowering::lower_reduction (gcall *call)
{
  int code = TREE_INT_CST_LOW (gimple_call_arg (call, 0));
  int level = (int) TREE_INT_CST_LOW (gimple_call_arg (call, 3));
  tree lhs = gimple_call_lhs (call), value = gimple_call_arg (call, 2);
  gimple_seq seq = NULL;
  bool gangs = level == GOMP_DIM_GANG; /* also a single one: it begins with the neutral value, PR88852 */
  if (!gangs && !real (level))
    return; /* the value stays where it is, as oaccdevlow does it for one lane */
  if (gangs)
    lower_gang_reduction (call, code, &seq);
  else
    lower_lane_reduction (call, code, &seq);
  bool written = !gangs && (code == IFN_GOACC_REDUCTION_SETUP || code == IFN_GOACC_REDUCTION_TEARDOWN);
  if (lhs && !written)
    {
      if (code == IFN_GOACC_REDUCTION_INIT)
	{
	  tree_code op = (tree_code) TREE_INT_CST_LOW (gimple_call_arg (call, 4));
	  value = omp_reduction_init_op (gimple_location (call), op, TREE_TYPE (value));
	}
      push_gimplify_context (true);
      gimplify_assign (lhs, value, &seq);
      pop_gimplify_context (NULL);
    }
  gimple_stmt_iterator gsi = gsi_for_stmt (call);
  gsi_replace_with_seq (&gsi, seq, true);
}

} // namespace
