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

#include "openacc_parts.h"
#include "openacc_positions.h"
#include "openacc_lanes.h"

namespace {

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
