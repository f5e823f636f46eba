/* Programs and images made with -foffload-check: the calls of -fsanitize=thread before a loop in place of those in it.

   Behind pass tsan each innermost loop is looked at.  An access that happens in each iteration, at addresses with a
   fixed distance, is asked about once, before the loop: gompy_access_range (hooks.c) answers 1 if all that the calls in
   the loop would have noted is noted.  Then a copy of the loop runs that does not have these calls, and that the
   vectorizer takes like any other.  Where the answer is 0 the loop runs as it is: what is wrong is told exactly.

   Reads are asked about before writes, as a write makes its bytes good.  A loop in which anything but such calls and
   functions without effects is called stays as it is: what another thread may know can change within it.

   A plugin for cc1, cc1plus, f951 and lto1, of GCC 12 to 16.  */

#include "gcc-plugin.h"
#include "plugin-version.h"
#include "config.h"
#include "system.h"
#include "coretypes.h"
#include "backend.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "cgraph.h"
#include "fold-const.h"
#include "cfghooks.h"
#include "cfgloop.h"
#include "gimple-iterator.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-manip.h"
#include "tree-ssa-loop-niter.h"
#include "tree-chrec.h"
#include "tree-eh.h"
#include "tree-scalar-evolution.h"
#include "context.h"

int plugin_is_GPL_compatible;

namespace {

const char RANGE[] = "gompy_access_range";
const int WRITES = 0x100; /* gompy/native/access.h: GOMPY_RANGE_* */
const int ALONE = 0x200;
const unsigned MOST = 16; /* accesses of a loop that are asked about */

tree range_decl;
const ggc_root_tab ROOTS[] = {
  { &range_decl, 1, sizeof range_decl, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node }, LAST_GGC_ROOT_TAB
};

/* An access whose address is BASE, BASE + STEP, ... in the iterations of its loop.  */
struct access
{
  gcall *call;
  affine_iv iv;
  int size;
  bool writes;
  bool first; /* it happens once more than the loop's latch */
};

/* The size of __tsan_readN or __tsan_writeN; 0: it is none of these.  */
int
accessed (gimple *stmt, bool *writes)
{
  tree callee = gimple_call_fndecl (stmt);
  if (!callee || !DECL_NAME (callee) || gimple_call_num_args (stmt) != 1)
    return 0;
  const char *name = IDENTIFIER_POINTER (DECL_NAME (callee));
  if (startswith (name, "__builtin_"))
    name += strlen ("__builtin_");
  if (!startswith (name, "__tsan_"))
    return 0;
  name += strlen ("__tsan_");
  if (startswith (name, "unaligned_"))
    name += strlen ("unaligned_");
  *writes = startswith (name, "write");
  if (!*writes && !startswith (name, "read"))
    return 0;
  name += *writes ? 5 : 4;
  return ISDIGIT (*name) ? atoi (name) : 0;
}

class loop_of_accesses
{
public:
  loop_of_accesses (class loop *l) : l (l), others (false), others_read (false) {}
  bool collect ();
  void version ();

private:
  bool is_counted ();
  bool take (gcall *call, int size, bool writes);
  tree ask (const access &a, tree before, gimple_seq *seq);

  class loop *l;
  tree_niter_desc count;
  auto_vec<access> accesses;
  bool others, others_read;
};

bool
loop_of_accesses::is_counted ()
{
  edge exit = single_exit (l);
  return exit && number_of_iterations_exit (l, exit, &count, false) && integer_onep (count.assumptions)
	 && !chrec_contains_undetermined (count.niter);
}

bool
loop_of_accesses::take (gcall *call, int size, bool writes)
{
  access a;
  a.call = call;
  a.size = size;
  a.writes = writes;
  basic_block exit = single_exit (l)->src;
  a.first = dominated_by_p (CDI_DOMINATORS, exit, gimple_bb (call));
  if (!a.first && !dominated_by_p (CDI_DOMINATORS, l->latch, gimple_bb (call)))
    return false;
  if (accesses.length () == MOST || !simple_iv (l, l, gimple_call_arg (call, 0), &a.iv, true)
      || chrec_contains_undetermined (a.iv.base) || chrec_contains_undetermined (a.iv.step))
    return false;
  accesses.safe_push (a);
  return true;
}

/* Find what can be asked about.  False: nothing, or the loop stays as it is.  */
bool
loop_of_accesses::collect ()
{
  basic_block *body = get_loop_body (l);
  bool fine = true, counted = is_counted ();
  for (unsigned i = 0; i < l->num_nodes && fine && counted; i++)
    for (gimple_stmt_iterator gsi = gsi_start_bb (body[i]); !gsi_end_p (gsi) && fine; gsi_next (&gsi))
      {
	gimple *stmt = gsi_stmt (gsi);
	bool writes = false;
	if (gimple_code (stmt) == GIMPLE_ASM)
	  fine = false;
	gcall *call = dyn_cast<gcall *> (stmt);
	if (!call)
	  continue;
	if (int size = accessed (call, &writes))
	  {
	    if (!take (call, size, writes))
	      others_read |= !writes;
	  }
	else
	  fine = (gimple_call_flags (call) & (ECF_CONST | ECF_PURE)) && !stmt_could_throw_p (cfun, stmt);
      }
  free (body);
  return fine && counted && !accesses.is_empty ();
}

/* The call that asks, in SEQ; BEFORE: the last answer.  */
tree
loop_of_accesses::ask (const access &a, tree before, gimple_seq *seq)
{
  gimple_seq more = NULL;
  if (!range_decl)
    {
      tree decl = range_decl = build_fn_decl (RANGE, build_function_type_list (integer_type_node, ptr_type_node, long_integer_type_node,
							     long_unsigned_type_node, integer_type_node,
							     integer_type_node, NULL_TREE));
      DECL_VISIBILITY (decl) = VISIBILITY_HIDDEN;
      DECL_VISIBILITY_SPECIFIED (decl) = 1;
      TREE_NOTHROW (decl) = 1;
      DECL_PRESERVE_P (decl) = 1;
    }
  tree base = fold_convert (ptr_type_node, unshare_expr (a.iv.base));
  tree step = fold_convert (long_integer_type_node, unshare_expr (a.iv.step));
  if (TREE_OVERFLOW_P (step))
    step = drop_tree_overflow (step);
  tree n = fold_convert (long_unsigned_type_node, unshare_expr (count.niter));
  if (a.first)
    n = fold_build2 (PLUS_EXPR, long_unsigned_type_node, n, build_one_cst (long_unsigned_type_node));
  if (!integer_zerop (count.may_be_zero))
    n = fold_build3 (COND_EXPR, long_unsigned_type_node, unshare_expr (count.may_be_zero),
		     build_int_cst (long_unsigned_type_node, a.first), n);
  base = force_gimple_operand (base, &more, true, NULL_TREE);
  gimple_seq_add_seq (seq, more);
  step = force_gimple_operand (step, &more, true, NULL_TREE);
  gimple_seq_add_seq (seq, more);
  n = force_gimple_operand (n, &more, true, NULL_TREE);
  gimple_seq_add_seq (seq, more);
  int kind = a.size | (a.writes ? WRITES : 0) | (others_read ? ALONE : 0);
  gcall *call = gimple_build_call (range_decl, 5, base, step, n, build_int_cst (integer_type_node, kind), before);
  tree answer = make_ssa_name (integer_type_node);
  gimple_call_set_lhs (call, answer);
  gimple_set_location (call, gimple_location (a.call));
  gimple_seq_add_stmt (seq, call);
  return answer;
}

void
loop_of_accesses::version ()
{
  gimple_seq seq = NULL;
  tree answer = integer_one_node;
  for (int writes = 0; writes < 2; writes++)
    for (access &a : accesses)
      if (a.writes == (writes != 0))
	answer = ask (a, answer, &seq);
  gsi_insert_seq_on_edge_immediate (loop_preheader_edge (l), seq);
  tree good = build2 (NE_EXPR, boolean_type_node, answer, integer_zero_node);
  profile_probability likely = profile_probability::very_likely ();
  initialize_original_copy_tables ();
  basic_block where;
  class loop *as_it_was = loop_version (l, good, &where, likely, likely.invert (), likely, likely.invert (), true);
  free_original_copy_tables ();
  if (as_it_was)
    {
      as_it_was->dont_vectorize = true;
      for (access &a : accesses)
	{
	  gimple_stmt_iterator gsi = gsi_for_stmt (a.call);
	  unlink_stmt_vdef (a.call);
	  gsi_remove (&gsi, true);
	  release_defs (a.call);
	}
    }
  mark_virtual_operands_for_renaming (cfun);
  update_ssa (TODO_update_ssa);
  scev_reset ();
}

const pass_data ranges_data = {
  GIMPLE_PASS, "gompyranges", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0,
};

class pass_ranges : public gimple_opt_pass
{
public:
  pass_ranges (gcc::context *context) : gimple_opt_pass (ranges_data, context) {}
  bool gate (function *) final override { return (flag_sanitize & SANITIZE_THREAD) != 0; }
  unsigned int execute (function *) final override;
};

unsigned int
pass_ranges::execute (function *)
{
  loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  if (number_of_loops (cfun) > 1)
    {
      rewrite_into_loop_closed_ssa (NULL, TODO_update_ssa);
      scev_initialize ();
      calculate_dominance_info (CDI_DOMINATORS);
      auto_vec<class loop *> inner;
      for (class loop *l : *get_loops (cfun))
	if (l && l->num != 0 && !l->inner && l->header)
	  inner.safe_push (l);
      for (class loop *l : inner)
	{
	  loop_of_accesses found (l);
	  if (found.collect ())
	    found.version ();
	}
      scev_finalize ();
    }
  loop_optimizer_finalize ();
  return 0;
}

} // namespace

int
plugin_init (plugin_name_args *plugin, plugin_gcc_version *version)
{
  if (!plugin_default_version_check (version, &gcc_version))
    return 1;
  static register_pass_info pass = { new pass_ranges (g), "tsan", 1, PASS_POS_INSERT_AFTER };
  register_callback (plugin->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *> (ROOTS));
  register_callback (plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
  return 0;
}
