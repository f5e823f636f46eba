/* Gangs, workers and vector lanes of OpenACC on the emulated Intel MIC: a plugin for the lto1 that makes an image.

   GCC partitions loops in the device's compiler (pass oaccloops), then asks the back end how its processors are told
   apart (pass oaccdevlow).  x86-64's has no answer, so a region there is one gang of one lane.  This plugin gives one:

   - validate_dims and dim_limit take what clauses and -fopenacc-dim say;
   - before oaccdevlow, a pass of its own turns a region into a loop over gangs, which threads of the device share, and
     each worker- or vector-partitioned part into a loop over its lanes, one after another on the gang's thread;
   - what depends on positions (IFN_GOACC_LOOP, IFN_GOACC_DIM_*, IFN_GOACC_REDUCTION, __builtin_goacc_parlevel_*) is
     written out.

   A lane that nobody can tell from another is not made: where neither a region nor a routine that it calls asks for a
   position, workers and vector lanes are one each, and loops stay as the vectorizer likes them.

   gompy_acc_* are functions of the device's process (plugins/intelmic/device_gangs.pxi).  GCC 12 to 16; internal
   functions and markers are those of omp-low.cc (lower_oacc_head_tail, lower_oacc_reductions) and omp-expand.cc
   (expand_oacc_for).  */

#include "gcc-plugin.h"
#include "plugin-version.h"
#include "config.h"
#include "system.h"
#include "coretypes.h"
#include "backend.h"
#include "target.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "cgraph.h"
#include "diagnostic-core.h"
#include "fold-const.h"
#include "stringpool.h"
#include "attribs.h"
#include "varasm.h"
#include "cfghooks.h"
#include "cfgloop.h"
#include "internal-fn.h"
#include "gimple-iterator.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-dfa.h"
#include "omp-general.h"
#include "omp-low.h"
#include "omp-offload.h"
#include "gomp-constants.h"
#include "dumpfile.h"
#include "context.h"
#include "opts.h"

int plugin_is_GPL_compatible;

namespace {

const int LANES_WITHOUT_CLAUSE = 32; /* of workers and of vectors, as many as an NVIDIA GPU has */
const int SIZES = GOMP_DIM_MAX;      /* in a thread's state: positions of the dimensions, then their sizes */

/* What stands in the source and the device's process gives: int *gompy_acc_lanes (void), and so on.  */
struct runtime_functions
{
  tree lanes, gangs, next;
} runtime_decls;

tree
declare (const char *name, tree type)
{
  tree decl = build_fn_decl (name, type);
  TREE_NOTHROW (decl) = 1;
  /* The image is linked before it meets the device's process.  */
  declare_weak (decl);
  DECL_VISIBILITY (decl) = VISIBILITY_DEFAULT;
  DECL_VISIBILITY_SPECIFIED (decl) = 1;
  return decl;
}

void
declare_functions ()
{
  if (runtime_decls.lanes)
    return;
  tree state = build_pointer_type (integer_type_node);
  tree body = build_pointer_type (build_function_type_list (void_type_node, ptr_type_node, NULL_TREE));
  runtime_decls.lanes = declare ("gompy_acc_lanes", build_function_type_list (state, NULL_TREE));
  TREE_READONLY (runtime_decls.lanes) = 1; /* a thread's state stays where it is */
  runtime_decls.gangs = declare ("gompy_acc_gangs",
				 build_function_type_list (integer_type_node, body, ptr_type_node, integer_type_node,
							   integer_type_node, integer_type_node, NULL_TREE));
  runtime_decls.next = declare ("gompy_acc_next_gang", build_function_type_list (integer_type_node, NULL_TREE));
}

/* Does a function, or a routine that it calls, ask for positions?  */

hash_map<tree, bool> *seen_asking;

bool
is_question (tree decl)
{
  return fndecl_built_in_p (decl, BUILT_IN_GOACC_PARLEVEL_ID)
	 || fndecl_built_in_p (decl, BUILT_IN_GOACC_PARLEVEL_SIZE);
}

bool
asks (cgraph_node *node)
{
  node = node->ultimate_alias_target ();
  if (bool *known = seen_asking->get (node->decl))
    return *known;
  if (!oacc_get_fn_attrib (node->decl))
    return false;
  seen_asking->put (node->decl, false); /* a recursion asks nothing new */
  bool result = !node->definition || node->in_other_partition;
  for (cgraph_edge *e = node->callees; e && !result; e = e->next_callee)
    result = is_question (e->callee->decl) || asks (e->callee);
  seen_asking->put (node->decl, result);
  return result;
}

/* A partitioned part of a function: from FORK to JOIN, at a level.  */

struct part
{
  gcall *fork, *join;
  int level;
  auto_vec<std::pair<tree, tree> > sums; /* offset in the reduction buffer, and the variable that collects */
};

class function_lowering
{
public:
  function_lowering (tree decl);
  bool run ();

private:
  void collect ();
  part *part_of (gcall *marker);
  bool real (int level) const { return level > GOMP_DIM_GANG && lanes[level] != 1; }
  bool many_gangs () const { return lanes[GOMP_DIM_GANG] != 1; }

  tree state (gimple_seq *seq);
  tree load (int index, gimple_seq *seq);
  void store (int index, tree value, gimple_seq *seq);
  tree number (bool position, unsigned axis, gimple_seq *seq);
  tree numbers (bool position, unsigned mask, gimple_seq *seq);

  void lower_question (gcall *call, bool position, tree axis);
  void lower_loop (gcall *call);
  void lower_tile (gcall *call);
  void lower_reduction (gcall *call);
  void lower_gang_reduction (gcall *call, int code, gimple_seq *seq);
  void lower_lane_reduction (gcall *call, int code, gimple_seq *seq);
  tree combined (tree variable, gcall *call, gimple_seq *seq);
  void loop_over_lanes (part *p);
  void loop_over_gangs ();

  tree decl;
  bool region; /* else a routine, whose dimensions are its caller's */
  int lanes[GOMP_DIM_MAX]; /* of each dimension; 0: known when it runs */
  auto_vec<gcall *> questions, loops, tiles, reductions;
  auto_delete_vec<part> parts;
};

function_lowering::function_lowering (tree fn) : decl (fn)
{
  region = oacc_fn_attrib_level (oacc_get_fn_attrib (fn)) < 0;
  bool apart = asks (cgraph_node::get (fn));
  for (int axis = 0; axis < GOMP_DIM_MAX; axis++)
    {
      lanes[axis] = region ? oacc_get_fn_dim_size (fn, axis) : 0;
      if (axis > GOMP_DIM_GANG && !apart)
	lanes[axis] = 1;
    }
}

/* Which kind of marker a call is; -1: none.  */

int
marker_kind (gimple *stmt)
{
  return gimple_call_internal_p (stmt, IFN_UNIQUE) ? (int) TREE_INT_CST_LOW (gimple_call_arg (stmt, 0)) : -1;
}

int
marker_level (gimple *stmt)
{
  return (int) TREE_INT_CST_LOW (gimple_call_arg (stmt, 2));
}

/* Blocks of a head or a tail follow each other: the next call that is a KIND, from STMT on.  */

gcall *
find_marker (gimple *stmt, int kind, bool forward)
{
  gimple_stmt_iterator gsi = gsi_for_stmt (stmt);
  basic_block bb = gimple_bb (stmt);
  while (true)
    {
      if (forward)
	gsi_next (&gsi);
      else
	gsi_prev (&gsi);
      while (gsi_end_p (gsi))
	{
	  if (forward ? !single_succ_p (bb) : !single_pred_p (bb))
	    return NULL;
	  bb = forward ? single_succ (bb) : single_pred (bb);
	  gsi = forward ? gsi_start_bb (bb) : gsi_last_bb (bb);
	}
      if (marker_kind (gsi_stmt (gsi)) == kind)
	return as_a<gcall *> (gsi_stmt (gsi));
    }
}

/* The JOIN of a FORK: parts of a level do not stand in each other, so the first one that is reached.  */

gcall *
find_join (gcall *fork)
{
  int level = marker_level (fork);
  auto_vec<basic_block> todo;
  hash_set<basic_block> seen;
  todo.safe_push (gimple_bb (fork));
  bool first = true;
  while (!todo.is_empty ())
    {
      basic_block bb = todo.pop ();
      gimple_stmt_iterator gsi = first ? gsi_for_stmt (fork) : gsi_start_bb (bb);
      first = false;
      for (; !gsi_end_p (gsi); gsi_next (&gsi))
	if (marker_kind (gsi_stmt (gsi)) == IFN_UNIQUE_OACC_JOIN && marker_level (gsi_stmt (gsi)) == level)
	  return as_a<gcall *> (gsi_stmt (gsi));
      edge e;
      edge_iterator ei;
      FOR_EACH_EDGE (e, ei, bb->succs)
	if (e->dest != EXIT_BLOCK_PTR_FOR_FN (cfun) && !seen.add (e->dest))
	  todo.safe_push (e->dest);
    }
  return NULL;
}

void
function_lowering::collect ()
{
  basic_block bb;
  FOR_EACH_BB_FN (bb, cfun)
    for (gimple_stmt_iterator gsi = gsi_start_bb (bb); !gsi_end_p (gsi); gsi_next (&gsi))
      {
	gcall *call = dyn_cast<gcall *> (gsi_stmt (gsi));
	if (!call)
	  continue;
	if (tree callee = gimple_call_fndecl (call))
	  {
	    if (is_question (callee))
	      questions.safe_push (call);
	    continue;
	  }
	if (!gimple_call_internal_p (call))
	  continue;
	switch (gimple_call_internal_fn (call))
	  {
	  case IFN_GOACC_DIM_POS:
	  case IFN_GOACC_DIM_SIZE:
	    questions.safe_push (call);
	    break;
	  case IFN_GOACC_LOOP:
	    loops.safe_push (call);
	    break;
	  case IFN_GOACC_TILE:
	    tiles.safe_push (call);
	    break;
	  case IFN_GOACC_REDUCTION:
	    reductions.safe_push (call);
	    break;
	  case IFN_UNIQUE:
	    if (marker_kind (call) == IFN_UNIQUE_OACC_FORK && real (marker_level (call)))
	      if (gcall *join = find_join (call))
		{
		  part *p = new part;
		  p->fork = call;
		  p->join = join;
		  p->level = marker_level (call);
		  parts.safe_push (p);
		}
	    break;
	  default:
	    break;
	  }
      }
}

part *
function_lowering::part_of (gcall *marker)
{
  for (part *p : parts)
    if (p->fork == marker || p->join == marker)
      return p;
  return NULL;
}

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
  auto times = [&] (tree a, tree b) { return fold_build2 (MULT_EXPR, type, fold_convert (type, a), fold_convert (type, b)); };
  auto plus = [&] (tree a, tree b) { return fold_build2 (PLUS_EXPR, type, fold_convert (type, a), fold_convert (type, b)); };
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
      HOST_WIDE_INT loops = TREE_INT_CST_LOW (gimple_call_arg (call, 0)), loop = TREE_INT_CST_LOW (gimple_call_arg (call, 1));
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

/* Returns whether anything has been changed.  */

bool
function_lowering::run ()
{
  collect ();
  bool split = region && (many_gangs () || real (GOMP_DIM_WORKER) || real (GOMP_DIM_VECTOR));
  if (!split && questions.is_empty () && loops.is_empty () && tiles.is_empty () && reductions.is_empty ())
    return false;
  declare_functions ();
  for (gcall *call : questions)
    {
      tree callee = gimple_call_fndecl (call);
      bool position = callee ? fndecl_built_in_p (callee, BUILT_IN_GOACC_PARLEVEL_ID)
			     : gimple_call_internal_fn (call) == IFN_GOACC_DIM_POS;
      lower_question (call, position, gimple_call_arg (call, 0));
    }
  for (gcall *call : loops)
    lower_loop (call);
  for (gcall *call : tiles)
    lower_tile (call);
  for (gcall *call : reductions)
    lower_reduction (call);
  for (part *p : parts)
    loop_over_lanes (p);
  if (split)
    loop_over_gangs ();
  free_dominance_info (CDI_DOMINATORS);
  free_dominance_info (CDI_POST_DOMINATORS);
  mark_virtual_operands_for_renaming (cfun);
  loops_state_set (LOOPS_NEED_FIXUP);
  return true;
}

const pass_data lowering_data = {
  GIMPLE_PASS, "gompyacc", OPTGROUP_OMP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, TODO_update_ssa | TODO_cleanup_cfg
};

class pass_lowering : public gimple_opt_pass
{
public:
  pass_lowering (gcc::context *context) : gimple_opt_pass (lowering_data, context) {}
  bool gate (function *) final override { return flag_openacc; }
  unsigned execute (function *fun) final override
  {
    if (oacc_get_fn_attrib (fun->decl))
      function_lowering (fun->decl).run ();
    return 0;
  }
};

/* -fopenacc-dim=GANGS:WORKERS:VECTORS, each of them optional; what is wrong has been told by the host's compiler.  */

void
default_dims (int *dims)
{
  const char *text = flag_openacc_dims;
  dims[GOMP_DIM_GANG] = 0; /* as many as the device has processors */
  dims[GOMP_DIM_WORKER] = dims[GOMP_DIM_VECTOR] = LANES_WITHOUT_CLAUSE;
  for (int axis = 0; text && *text && axis < GOMP_DIM_MAX; axis++)
    {
      char *end;
      long value = strtol (text, &end, 10);
      if (value > 0 && value <= INT_MAX)
	dims[axis] = value;
      text = *end == ':' ? end + 1 : "";
    }
}

bool
validate_dims (tree fn, int *dims, int level, unsigned)
{
  if (!fn && level == -1)
    default_dims (dims);
  return !fn;
}

/* A variable is private at a level.  The frame of the gang's thread, where it is, has one for each gang, and its lanes
   share it, so nothing has to be moved.  */

tree
adjust_private_decl (location_t where, tree variable, int level)
{
  if (level == GOMP_DIM_GANG && dump_enabled_p ())
    dump_printf_loc (get_openacc_privatization_dump_flags (), dump_user_location_t::from_location_t (where),
		     "variable %<%T%> adjusted for OpenACC privatization level: %qs\n", variable, "gang");
  return variable;
}

int
dim_limit (int)
{
  return 0;
}

} // namespace

int
plugin_init (plugin_name_args *plugin, plugin_gcc_version *version)
{
  if (strcmp (version->basever, gcc_version.basever) != 0)
    {
      error ("%s: built for gcc %s, this is gcc %s", plugin->full_name, gcc_version.basever, version->basever);
      return 1;
    }
  seen_asking = new hash_map<tree, bool>;
  targetm.goacc.validate_dims = validate_dims;
  targetm.goacc.dim_limit = dim_limit;
  targetm.goacc.adjust_private_decl = adjust_private_decl;
  register_pass_info pass = { new pass_lowering (g), "oaccdevlow", 1, PASS_POS_INSERT_BEFORE };
  register_callback (plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
  return 0;
}
