/* What a function has that openacc.cc lowers: questions for positions, loops, reductions, and the parts between a
   fork and its join.  */

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

} // namespace
