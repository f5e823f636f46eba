/* Programs and images made with -foffload-check: the calls of -fsanitize=thread before a loop in place of those in it.

   Behind pass tsan each innermost loop is looked at.  An access that happens in each iteration, at addresses with a
   fixed distance, is asked about once, before the loop: gompy_access_range (gompy/access/hooks.c) answers 1 if all that
   the calls in the loop would have noted is noted.  Then a copy of the loop runs that does not have these calls, and
   that the vectorizer takes like any other.  Where the answer is 0 the loop runs as it is: what is wrong is told
   exactly.

   An inner loop over rows, one after the other in memory, is asked about with the loop around it (loops_rows.h).

   An access at an address that is an index from memory times a number, and something that stays the same, is asked
   about in the same way (gompy_access_gather), if its indices are, and the loop writes none of them.

   An access that happens in some iterations, or in a loop that can be left early, is tried before the loop
   (gompy_access_ahead): is all good that it may be?  The copy notes in which iterations it happened, or how many there
   were, and all is told at its exits (gompy_access_some, gompy_access_done).

   Reads are asked about before writes, as a write makes its bytes good.  A loop in which anything but such calls and
   functions without effects is called stays as it is: what another thread may know can change within it.

   What a region was given is read once in a function before that (loops_fields.h), so that addresses in a loop are
   known to stay the same.

   What a region assigns to a copy, and is lost, is told when that is compiled (loops_lost.h).

   Accesses in no such loop are asked about by rows of statements (loops_straight.h), and code looks by itself whether
   they go on where they were last (loops_steps.h).  Calls at the begin and end of
   functions, which tell nothing here, go.

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
#include "alias.h"
#include "cfghooks.h"
#include "cfgloop.h"
#include "gimple-iterator.h"
#include "gimple-walk.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-affine.h"
#include "tree-dfa.h"
#include "tree-ssa-alias.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-ivopts.h"
#include "tree-ssa-loop-manip.h"
#include "tree-ssa-loop-niter.h"
#include "tree-chrec.h"
#include "tree-eh.h"
#include "tree-scalar-evolution.h"
#include "context.h"
#include "diagnostic-core.h"
#include "sbitmap.h"

int plugin_is_GPL_compatible;

namespace {

const int WRITES = 0x100; /* gompy/native/access.h: GOMPY_RANGE_* */
const int ALONE = 0x200;
const int EARLY = 0x400;
const int IN_ROW = 0x800; /* GOMPY_RANGE_ROW, GOMPY_ROW_SPAN, GOMPY_ROW_BITS */
const int SPAN_SHIFT = 12;
const unsigned SPAN_BITS = 16;
const int BYTES_SHIFT = 12; /* GOMPY_INDEX_* */
const int UNSIGNED = 0x10000;
const unsigned MOST = 16; /* accesses of a loop that are asked about */

/* Functions of hooks.c, as they are needed.  */
enum asked { RANGE, ROW, ROW_AT, ONE, GATHER, APART, AHEAD, TAKEN, SOME, CLEAR, DONE, ROWS, BOUND, ASKED };
tree decls[ASKED];
const ggc_root_tab ROOTS[] = {
  { decls, ASKED, sizeof decls[0], &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node }, LAST_GGC_ROOT_TAB
};

tree
decl_of (asked which)
{
  tree p = ptr_type_node, l = long_integer_type_node, ul = long_unsigned_type_node, i = integer_type_node;
  tree v = void_type_node;
  if (decls[which])
    return decls[which];
  const struct
  {
    const char *name;
    tree type;
  } functions[ASKED] = {
    { "gompy_access_range", build_function_type_list (i, p, l, ul, i, i, NULL_TREE) },
    { "gompy_access_row", build_function_type_list (i, ul, p, p, p, p, NULL_TREE) },
    { "gompy_access_row_at", build_function_type_list (i, ul, p, p, p, p, p, NULL_TREE) },
    { "gompy_access_one", build_function_type_list (v, p, i, p, NULL_TREE) },
    { "gompy_access_gather", build_function_type_list (i, p, l, p, l, ul, i, i, NULL_TREE) },
    { "gompy_access_apart", build_function_type_list (i, p, l, p, l, ul, i, i, NULL_TREE) },
    { "gompy_access_ahead", build_function_type_list (i, p, l, ul, i, i, NULL_TREE) },
    { "gompy_access_taken", build_function_type_list (p, ul, i, NULL_TREE) },
    { "gompy_access_some", build_function_type_list (v, p, l, ul, i, p, NULL_TREE) },
    { "gompy_access_clear", build_function_type_list (v, p, ul, NULL_TREE) },
    { "gompy_access_done", build_function_type_list (v, p, l, ul, i, NULL_TREE) },
    { "gompy_access_rows", build_function_type_list (i, p, ul, i, i, NULL_TREE) },
    { "gompy_access_bound", build_function_type_list (ul, p, ul, ul, i, i, NULL_TREE) },
  };
  tree decl = build_fn_decl (functions[which].name, functions[which].type);
  DECL_IS_MALLOC (decl) = which == TAKEN;
  DECL_VISIBILITY (decl) = VISIBILITY_HIDDEN;
  DECL_VISIBILITY_SPECIFIED (decl) = 1;
  TREE_NOTHROW (decl) = 1;
  DECL_PRESERVE_P (decl) = 1;
  return decls[which] = decl;
}

/* An access whose address is BASE, BASE + STEP, ... in the iterations of its loop.  */
struct access
{
  gcall *call;
  affine_iv iv;
  int size;
  bool writes;
  bool first; /* it happens once more than the loop's latch */
};

/* One that happens in some iterations, or until the loop is left.  */
struct later
{
  access a;
  tree base, step, n; /* operands, from before the loop */
  unsigned slot;      /* where the iterations are noted */
};

/* An access at BASE + SCALE * what the access number INDEX reads.  */
struct gather
{
  gcall *call;
  tree base, index_type;
  tree read; /* where that is */
  HOST_WIDE_INT scale;
  unsigned index;
  int size;
  bool writes, first;
};

/* Two accesses that must not meet: a write, and one that reads indices.  */
struct apart
{
  unsigned write, index;
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

/* The call that tells of what STMT loads or stores: it stands right before.  NULL: there is none.  */
gcall *
told_by (gimple *stmt)
{
  gimple_stmt_iterator gsi = gsi_for_stmt (stmt);
  bool writes;
  gsi_prev_nondebug (&gsi);
  gcall *call = gsi_end_p (gsi) ? NULL : dyn_cast<gcall *> (gsi_stmt (gsi));
  return call && accessed (call, &writes) ? call : NULL;
}

/* Whether what two references have may be the same memory, in whichever iterations they are.  */
bool
may_meet (tree one, tree other)
{
  if (flag_strict_aliasing && !alias_sets_conflict_p (get_alias_set (one), get_alias_set (other)))
    return false;
  tree a = get_base_address (one), b = get_base_address (other);
  if (!a || !b)
    return true;
  if (DECL_P (a) && DECL_P (b))
    return a == b;
  if (TREE_CODE (a) == MEM_REF && TREE_CODE (b) == MEM_REF)
    return ptr_derefs_may_alias_p (TREE_OPERAND (a, 0), TREE_OPERAND (b, 0));
  return true;
}

class loop_of_accesses
{
public:
  loop_of_accesses (class loop *l) : l (l), others (false), others_read (false), early (false) {}
  bool collect ();
  void version ();

private:
  friend class rows_of_accesses;
  bool collect_around ();
  bool has_all () const;
  void remove_calls ();
  bool is_counted ();
  bool is_bounded ();
  bool take_later (access &a);
  tree ask_ahead (later &d, tree before, gimple_seq *seq);
  void note_iterations (tree iteration);
  void note_at_exits (tree iteration);
  tree count_iterations ();
  bool happens (gcall *call, bool *first);
  bool take (gcall *call, int size, bool writes);
  bool take_gather (gcall *call, int size, bool writes);
  bool find_index (tree value, tree *read, unsigned *index);
  bool keep_apart (unsigned index, tree read);
  bool take_calls (basic_block *body, auto_vec<gcall *> &left);
  tree times (bool first, gimple_seq *seq);
  tree ask (const access &a, tree before, gimple_seq *seq);
  tree ask_at (const access &a, tree base, tree n, tree before, gimple_seq *seq);
  tree ask_gather (const gather &g, tree before, gimple_seq *seq);
  tree ask_gather_at (const gather &g, tree first, tree n, tree before, gimple_seq *seq);
  tree ask_apart (const apart &a, tree before, gimple_seq *seq);

  class loop *l;
  tree_niter_desc count;
  auto_vec<access> accesses;
  auto_vec<gather> gathers;
  auto_vec<apart> aparts;
  auto_vec<gimple *> stores;
  auto_vec<later> laters;
  auto_vec<basic_block> slots; /* blocks whose iterations are noted */
  auto_vec<tree> places;       /* of that, for each slot */
  tree taken, taken_size;
  bool others; /* some are told of one by one */
  bool others_read;
  bool early; /* it can be left early */
};

bool
loop_of_accesses::is_counted ()
{
  edge exit = single_exit (l);
  return exit && number_of_iterations_exit (l, exit, &count, false) && integer_onep (count.assumptions)
	 && !chrec_contains_undetermined (count.niter);
}

/* Whether it can be left early, and otherwise ends after so many iterations.  */
bool
loop_of_accesses::is_bounded ()
{
  bool found = false, fine = true;
  auto_vec<edge> exits = get_loop_exit_edges (l);
  for (edge exit : exits)
    {
      fine &= !(exit->flags & (EDGE_ABNORMAL | EDGE_EH));
      if (!found && dominated_by_p (CDI_DOMINATORS, l->latch, exit->src))
	found = number_of_iterations_exit (l, exit, &count, false) && integer_onep (count.assumptions)
		&& !chrec_contains_undetermined (count.niter);
    }
  return early = exits.length () > 1 && found && fine;
}

/* Whether a call happens in each iteration; FIRST: once more than the loop's latch.  */
bool
loop_of_accesses::happens (gcall *call, bool *first)
{
  *first = dominated_by_p (CDI_DOMINATORS, single_exit (l)->src, gimple_bb (call));
  return *first || dominated_by_p (CDI_DOMINATORS, l->latch, gimple_bb (call));
}

bool
loop_of_accesses::take (gcall *call, int size, bool writes)
{
  access a;
  a.call = call;
  a.size = size;
  a.writes = writes;
  if (accesses.length () == MOST || !simple_iv (l, l, gimple_call_arg (call, 0), &a.iv, true)
      || chrec_contains_undetermined (a.iv.base)
      || chrec_contains_undetermined (a.iv.step))
    return false;
  if (early || !happens (call, &a.first))
    return take_later (a);
  accesses.safe_push (a);
  return true;
}

bool
loop_of_accesses::take_later (access &a)
{
  basic_block block = gimple_bb (a.call);
  unsigned slot = 0;
  if (laters.length () == MOST || (early && !dominated_by_p (CDI_DOMINATORS, l->latch, block)))
    return false;
  while (!early && slot < slots.length () && slots[slot] != block)
    slot++;
  if (!early && slot == slots.length ())
    slots.safe_push (block);
  laters.safe_push ({ a, NULL_TREE, NULL_TREE, NULL_TREE, slot });
  return true;
}

/* VALUE is an integer that the loop reads from memory by an access that is asked about: that one, and what is read.  */
bool
loop_of_accesses::find_index (tree value, tree *read, unsigned *index)
{
  if (TREE_CODE (value) != SSA_NAME || !INTEGRAL_TYPE_P (TREE_TYPE (value)))
    return false;
  gimple *load = SSA_NAME_DEF_STMT (value);
  if (!gimple_assign_load_p (load) || !flow_bb_inside_loop_p (l, gimple_bb (load)))
    return false;
  gcall *call = told_by (load);
  *read = gimple_assign_rhs1 (load);
  for (*index = 0; *index < accesses.length (); (*index)++)
    {
      const access &a = accesses[*index];
      if (a.call == call)
	return !a.writes && (unsigned) a.size * BITS_PER_UNIT == TYPE_PRECISION (TREE_TYPE (value)) && a.size <= 8;
    }
  return false;
}

/* Whether nothing that the loop stores is what the access number INDEX reads, or that can be asked.  */
bool
loop_of_accesses::keep_apart (unsigned index, tree read)
{
  for (gimple *store : stores)
    {
      if (!may_meet (gimple_get_lhs (store), read))
	continue;
      gcall *call = told_by (store);
      unsigned i;
      for (i = 0; i < accesses.length () && accesses[i].call != call; i++)
	;
      if (!call || i == accesses.length () || !accesses[i].writes) /* a copy has two calls before it */
	return false;
      aparts.safe_push ({ i, index });
    }
  return true;
}

bool
loop_of_accesses::take_gather (gcall *call, int size, bool writes)
{
  gather g = { call, NULL_TREE, NULL_TREE, NULL_TREE, 0, 0, size, writes, false };
  hash_map<tree, name_expansion *> *cache = NULL;
  aff_tree sum;
  tree value = NULL_TREE, read = NULL_TREE, address = gimple_call_arg (call, 0);
  if (early || gathers.length () == MOST || !happens (call, &g.first))
    return false;
  tree_to_aff_combination_expand (address, TREE_TYPE (address), &sum, &cache);
  free_affine_expand_cache (&cache);
  for (unsigned i = sum.n; i-- > 0;)
    if (!expr_invariant_in_loop_p (l, sum.elts[i].val))
      {
	if (value || !wi::fits_shwi_p (sum.elts[i].coef))
	  return false;
	value = sum.elts[i].val;
	g.scale = sum.elts[i].coef.to_shwi ();
	aff_combination_remove_elt (&sum, i);
      }
  if (!value || sum.rest)
    return false;
  if (CONVERT_EXPR_P (value))
    value = TREE_OPERAND (value, 0);
  unsigned stored = aparts.length ();
  if (!find_index (value, &read, &g.index) || !keep_apart (g.index, read))
    {
      aparts.truncate (stored);
      return false;
    }
  g.base = aff_combination_to_tree (&sum);
  g.index_type = TREE_TYPE (value);
  g.read = read;
  gathers.safe_push (g);
  return true;
}

/* The calls of BODY, and of no inner loop, that have a fixed distance are taken, others that tell of accesses are LEFT.
   False: there is something else by which the loop must stay as it is.  */
bool
loop_of_accesses::take_calls (basic_block *body, auto_vec<gcall *> &left)
{
  for (unsigned i = 0; i < l->num_nodes; i++)
    for (gimple_stmt_iterator gsi = gsi_start_bb (body[i]); !gsi_end_p (gsi) && body[i]->loop_father == l;
	 gsi_next (&gsi))
      {
	gimple *stmt = gsi_stmt (gsi);
	bool writes = false;
	if (gimple_code (stmt) == GIMPLE_ASM)
	  return false;
	gcall *call = dyn_cast<gcall *> (stmt);
	if (!call)
	  {
	    if (gimple_store_p (stmt))
	      stores.safe_push (stmt);
	    continue;
	  }
	int size = accessed (call, &writes);
	if (size == 0 && (!(gimple_call_flags (call) & (ECF_CONST | ECF_PURE)) || stmt_could_throw_p (cfun, stmt)))
	  return false;
	if (size != 0 && !take (call, size, writes))
	  left.safe_push (call);
	if (size == 0 && gimple_store_p (stmt))
	  stores.safe_push (stmt);
      }
  return true;
}

/* Find what can be asked about.  False: nothing, or the loop stays as it is.  */
bool
loop_of_accesses::collect ()
{
  basic_block *body = get_loop_body (l);
  auto_vec<gcall *> left;
  bool fine = (is_counted () || is_bounded ()) && take_calls (body, left);
  free (body);
  if (!fine || (accesses.is_empty () && laters.is_empty ()))
    return false;
  for (gcall *call : left)
    {
      bool writes = false;
      int size = accessed (call, &writes);
      if (!take_gather (call, size, writes))
	{
	  others = true;
	  others_read |= !writes;
	}
    }
  return true;
}

/* The same of what a loop does around its inner loop.  */
bool
loop_of_accesses::collect_around ()
{
  basic_block *body = get_loop_body (l);
  auto_vec<gcall *> left;
  bool fine = is_counted () && take_calls (body, left);
  free (body);
  return fine && left.is_empty ();
}

/* Whether all accesses are asked about before it, and nothing else.  */
bool
loop_of_accesses::has_all () const
{
  return !others && !early && laters.is_empty () && aparts.is_empty ();
}

/* VALUE as an operand of a call, computed in SEQ.  */
tree
operand (tree value, tree type, gimple_seq *seq)
{
  gimple_seq more = NULL;
  value = fold_convert (type, unshare_expr (value));
  if (TREE_OVERFLOW_P (value))
    value = drop_tree_overflow (value);
  value = force_gimple_operand (value, &more, true, NULL_TREE);
  gimple_seq_add_seq (seq, more);
  return value;
}

/* How often an access happens.  */
tree
loop_of_accesses::times (bool first, gimple_seq *seq)
{
  tree n = fold_convert (long_unsigned_type_node, unshare_expr (count.niter));
  if (first)
    n = fold_build2 (PLUS_EXPR, long_unsigned_type_node, n, build_one_cst (long_unsigned_type_node));
  if (!integer_zerop (count.may_be_zero))
    n = fold_build3 (COND_EXPR, long_unsigned_type_node, unshare_expr (count.may_be_zero),
		     build_int_cst (long_unsigned_type_node, first), n);
  return operand (n, long_unsigned_type_node, seq);
}

/* CALL goes into SEQ; what it answers.  */
tree
answer_of (gcall *call, location_t where, gimple_seq *seq)
{
  tree answer = make_ssa_name (integer_type_node);
  gimple_call_set_lhs (call, answer);
  gimple_set_location (call, where);
  gimple_seq_add_stmt (seq, call);
  return answer;
}

/* The call that asks, in SEQ, for N accesses from BASE on; BEFORE: the last answer.  */
tree
loop_of_accesses::ask_at (const access &a, tree base, tree n, tree before, gimple_seq *seq)
{
  tree step = operand (a.iv.step, long_integer_type_node, seq);
  int kind = a.size | (a.writes ? WRITES : 0) | (others_read ? ALONE : 0);
  gcall *call = gimple_build_call (decl_of (RANGE), 5, base, step, n, build_int_cst (integer_type_node, kind), before);
  return answer_of (call, gimple_location (a.call), seq);
}

/* The same for all of the loop.  */
tree
loop_of_accesses::ask (const access &a, tree before, gimple_seq *seq)
{
  tree base = operand (a.iv.base, ptr_type_node, seq);
  return ask_at (a, base, times (a.first, seq), before, seq);
}

/* Ask for N accesses whose indices are at FIRST and behind it.  */
tree
loop_of_accesses::ask_gather_at (const gather &g, tree first, tree n, tree before, gimple_seq *seq)
{
  const access &index = accesses[g.index];
  tree base = operand (g.base, ptr_type_node, seq);
  tree step = operand (index.iv.step, long_integer_type_node, seq);
  int kind = g.size | (g.writes ? WRITES : 0) | (others_read ? ALONE : 0) | index.size << BYTES_SHIFT
	     | (TYPE_UNSIGNED (g.index_type) ? UNSIGNED : 0);
  gcall *call = gimple_build_call (decl_of (GATHER), 7, base, build_int_cst (long_integer_type_node, g.scale), first,
				   step, n, build_int_cst (integer_type_node, kind), before);
  return answer_of (call, gimple_location (g.call), seq);
}

tree
loop_of_accesses::ask_gather (const gather &g, tree before, gimple_seq *seq)
{
  tree first = operand (accesses[g.index].iv.base, ptr_type_node, seq);
  return ask_gather_at (g, first, times (g.first, seq), before, seq);
}

tree
loop_of_accesses::ask_apart (const apart &a, tree before, gimple_seq *seq)
{
  const access &write = accesses[a.write], &index = accesses[a.index];
  tree base = operand (write.iv.base, ptr_type_node, seq);
  tree step = operand (write.iv.step, long_integer_type_node, seq);
  tree first = operand (index.iv.base, ptr_type_node, seq);
  tree other = operand (index.iv.step, long_integer_type_node, seq);
  tree n = times (true, seq);
  int size = write.size > index.size ? write.size : index.size;
  gcall *call = gimple_build_call (decl_of (APART), 7, base, step, first, other, n,
				   build_int_cst (integer_type_node, size), before);
  return answer_of (call, gimple_location (write.call), seq);
}

#include "loops_later.h"

void
remove_call (gcall *call)
{
  gimple_stmt_iterator gsi = gsi_for_stmt (call);
  unlink_stmt_vdef (call);
  gsi_remove (&gsi, true);
  release_defs (call);
}

/* The calls of what was asked about go.  */
void
loop_of_accesses::remove_calls ()
{
  for (later &d : laters)
    remove_call (d.a.call);
  for (access &a : accesses)
    remove_call (a.call);
  for (gather &g : gathers)
    remove_call (g.call);
}

/* Have a copy of a loop run where the answer is 0, and return it; NULL: there is none.  */
class loop *
version_loop (class loop *l, tree answer)
{
  tree good = build2 (NE_EXPR, boolean_type_node, answer, build_zero_cst (TREE_TYPE (answer)));
  profile_probability likely = profile_probability::very_likely ();
  basic_block where;
  initialize_original_copy_tables ();
  class loop *as_it_was = loop_version (l, good, &where, likely, likely.invert (), likely, likely.invert (), true);
  free_original_copy_tables ();
  return as_it_was;
}

void
loop_of_accesses::version ()
{
  gimple_seq seq = NULL;
  tree answer = integer_one_node;
  for (apart &a : aparts)
    answer = ask_apart (a, answer, &seq);
  for (int writes = 0; writes < 2; writes++)
    {
      for (later &d : laters)
	if (d.a.writes == (writes != 0))
	  answer = ask_ahead (d, answer, &seq);
      for (access &a : accesses)
	if (a.writes == (writes != 0))
	  answer = ask (a, answer, &seq);
      for (gather &g : gathers)
	if (g.writes == (writes != 0))
	  answer = ask_gather (g, answer, &seq);
    }
  if (!slots.is_empty ())
    {
      tree n = laters[0].n;
      tree blocks = build_int_cst (long_unsigned_type_node, slots.length ());
      taken_size = named (MULT_EXPR, long_unsigned_type_node, n, blocks, &seq);
      gcall *call = gimple_build_call (decl_of (TAKEN), 2, taken_size, answer);
      taken = make_ssa_name (ptr_type_node);
      gimple_call_set_lhs (call, taken);
      gimple_seq_add_stmt (&seq, call);
      for (unsigned i = 0; i < slots.length (); i++)
	places.safe_push (i == 0 ? taken : named (POINTER_PLUS_EXPR, ptr_type_node, places[i - 1], n, &seq));
      answer = taken;
    }
  gsi_insert_seq_on_edge_immediate (loop_preheader_edge (l), seq);
  class loop *as_it_was = version_loop (l, answer);
  if (as_it_was)
    {
      as_it_was->dont_vectorize = true;
      tree iteration = laters.is_empty () ? NULL_TREE : count_iterations ();
      if (!slots.is_empty ())
	note_iterations (iteration);
      else if (iteration)
	note_at_exits (iteration);
      remove_calls ();
    }
  mark_virtual_operands_for_renaming (cfun);
  update_ssa (TODO_update_ssa);
  scev_reset ();
}

#include "loops_rows.h"
#include "loops_steps.h"
#include "loops_straight.h"
#include "loops_fields.h"
#include "loops_lost.h"

/* Whether STMT is a call at the begin or end of a function.  That at the end has no argument, and its declaration one:
   only the declaration says which function it is.  */
bool
is_entry (gimple *stmt)
{
  tree callee = is_gimple_call (stmt) ? gimple_call_fndecl (stmt) : NULL_TREE;
  return callee
	 && (fndecl_built_in_p (callee, BUILT_IN_TSAN_FUNC_ENTRY) || fndecl_built_in_p (callee, BUILT_IN_TSAN_FUNC_EXIT));
}

/* Remove the calls of -fsanitize=thread that have to do with calls of functions.  */
void
remove_entries ()
{
  auto_vec<gcall *> calls;
  basic_block block;
  FOR_EACH_BB_FN (block, cfun)
    for (gimple_stmt_iterator gsi = gsi_start_bb (block); !gsi_end_p (gsi); gsi_next (&gsi))
      if (is_entry (gsi_stmt (gsi)))
	calls.safe_push (as_a<gcall *> (gsi_stmt (gsi)));
  for (gcall *call : calls)
    remove_call (call);
  if (!calls.is_empty ())
    {
      mark_virtual_operands_for_renaming (cfun);
      update_ssa (TODO_update_ssa);
    }
}

/* Ask about loops with one inner loop, which has none.  */
void
ask_about_nests ()
{
  auto_vec<class loop *> outer;
  for (class loop *l : *get_loops (cfun))
    if (l && l->num != 0 && l->header && l->inner && !l->inner->next && !l->inner->inner)
      outer.safe_push (l);
  for (class loop *l : outer)
    {
      rows_of_accesses found (l);
      if (found.collect ())
	found.version ();
    }
}

const pass_data ranges_data = {
  GIMPLE_PASS, "gompyranges", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0,
};

class pass_ranges : public gimple_opt_pass
{
public:
  pass_ranges (gcc::context *context, bool plain) : gimple_opt_pass (ranges_data, context), plain (plain) {}
  opt_pass *clone () final override { return new pass_ranges (m_ctxt, plain); }
  bool gate (function *) final override;
  unsigned int execute (function *) final override;

private:
  bool plain; /* behind tsan0 */
};

/* What is optimized is behind tsan0, too, but with -Og it is there only.  */
bool
pass_ranges::gate (function *)
{
  return (flag_sanitize & SANITIZE_THREAD) != 0 && plain == (!optimize || optimize_debug);
}

unsigned int
pass_ranges::execute (function *)
{
  remove_entries ();
  given_fields ().read_once ();
  loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  if (number_of_loops (cfun) > 1)
    {
      rewrite_into_loop_closed_ssa (NULL, TODO_update_ssa);
      scev_initialize ();
      calculate_dominance_info (CDI_DOMINATORS);
      ask_about_nests ();
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
  ask_about_rows ();
  loop_optimizer_finalize ();
  return 0;
}

} // namespace

int
plugin_init (plugin_name_args *plugin, plugin_gcc_version *version)
{
  if (!plugin_default_version_check (version, &gcc_version))
    return 1;
  static register_pass_info pass = { new pass_ranges (g, false), "tsan", 1, PASS_POS_INSERT_AFTER };
  static register_pass_info plain = { new pass_ranges (g, true), "tsan0", 1, PASS_POS_INSERT_AFTER };
  register_callback (plugin->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *> (ROOTS));
  register_callback (plugin->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *> (STEP_ROOTS));
  register_callback (plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
  register_callback (plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &plain);
  static register_pass_info collect = { new pass_collect_lost (g), "omplower", 1, PASS_POS_INSERT_BEFORE };
  static register_pass_info lost = { new pass_tell_lost (g), "ompexp", 1, PASS_POS_INSERT_BEFORE };
  register_callback (plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &collect);
  register_callback (plugin->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &lost);
  for (int i = 0; i < plugin->argc; i++)
    if (strcmp (plugin->argv[i].key, "lost") == 0)
      {
	lost_is_told = strcmp (plugin->argv[i].value, "off") != 0;
	lost_is_error = strcmp (plugin->argv[i].value, "error") == 0;
      }
  return 0;
}
