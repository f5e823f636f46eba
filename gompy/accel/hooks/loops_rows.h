/* An inner loop that goes from one number in memory to the next, as over the rows of a sparse matrix, with the loop
   around it:

     for (r = 0; r < n; r++)
       for (i = first[r]; i < first[r + 1]; i++)
         ... a[i] ... b[at[i]] ...

   By itself each row is asked about, and a row is short.  But where the numbers do not decrease, what the inner loop
   does in all rows has no gap: it goes from first[0] to first[n].  So the device is asked once, before the outer loop,
   for the numbers, whether they do not decrease (gompy_access_rows), and for what both loops access.  Where the answer
   is 0, the nest runs as it is, and its inner loop is asked about row by row.

   All accesses of both loops must be such that can be asked about, and no store may change what is read ahead.

   Included once, by loops.cc.  */

class rows_of_accesses
{
public:
  rows_of_accesses (class loop *outer) : outer (outer), outside (outer), inside (outer->inner) {}
  bool collect ();
  void version ();

private:
  bool find_bounds ();
  const access *find_bound (tree value);
  bool comes_with_bounds (basic_block block);
  bool asks_for_numbers (edge taken);
  bool always_entered ();
  bool take_inner (const access &a);
  bool take_gathers ();
  bool stays (tree read);
  bool stay ();
  tree bound (tree at, tree ok, gimple_seq *seq);
  tree ask_rows (tree before, gimple_seq *seq);
  tree ask_both (bool writes, tree before, gimple_seq *seq);

  class loop *outer;
  loop_of_accesses outside, inside;
  tree start, end;	       /* what the inner loop's bounds are read into */
  bool tested;		       /* whether there is a number between them, before each iteration and not behind it */
  const access *low, *high;    /* and the accesses by which */
  auto_vec<aff_tree> bases;    /* of the inner loop's accesses, where its number is 0 */
  tree rows, from, total;      /* operands: rows, the first number, how many the inner loop goes through in all */
};

/* VALUE without conversions that keep it, if it is below 2^(bits - 1).  */
tree
unconverted (tree value)
{
  for (;;)
    {
      tree inner = NULL_TREE;
      gimple *def = TREE_CODE (value) == SSA_NAME ? SSA_NAME_DEF_STMT (value) : NULL;
      if (CONVERT_EXPR_P (value))
	inner = TREE_OPERAND (value, 0);
      else if (def && is_gimple_assign (def) && CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (def)))
	inner = gimple_assign_rhs1 (def);
      if (!inner || !INTEGRAL_TYPE_P (TREE_TYPE (inner)) || !INTEGRAL_TYPE_P (TREE_TYPE (value))
	  || TYPE_PRECISION (TREE_TYPE (value)) < TYPE_PRECISION (TREE_TYPE (inner)))
	return value;
      value = inner;
    }
}

/* VALUE as a sum, with what its names stand for.  */
void
sum_of (tree value, aff_tree *sum)
{
  hash_map<tree, name_expansion *> *cache = NULL;
  tree_to_aff_combination_expand (value, TREE_TYPE (value), sum, &cache);
  free_affine_expand_cache (&cache);
}

/* The outer loop's access by which a bound is read: one after the other in its iterations.  */
const access *
rows_of_accesses::find_bound (tree value)
{
  gimple *load = TREE_CODE (value) == SSA_NAME ? SSA_NAME_DEF_STMT (value) : NULL;
  if (!load || !gimple_assign_load_p (load) || !gimple_bb (load) || gimple_bb (load)->loop_father != outer)
    return NULL;
  gcall *call = told_by (load);
  for (const access &a : outside.accesses)
    if (a.call == call)
      return !a.writes && (unsigned) a.size * BITS_PER_UNIT == TYPE_PRECISION (TREE_TYPE (value))
		 && (a.size == 4 || a.size == 8) && tree_fits_shwi_p (a.iv.step) && tree_to_shwi (a.iv.step) == a.size
	       ? &a
	       : NULL;
  return NULL;
}

/* What bounds the inner loop: how often it runs is their difference, and they are neighbours in memory.  */
bool
rows_of_accesses::find_bounds ()
{
  aff_tree niter, distance, other;
  sum_of (inside.count.niter, &niter);
  if (niter.n != 2 || niter.rest || !wi::fits_shwi_p (niter.offset.coeffs[0]))
    return false;
  bool swapped = niter.elts[0].coef == -1;
  if (niter.elts[swapped].coef != 1 || niter.elts[!swapped].coef != -1)
    return false;
  end = unconverted (niter.elts[swapped].val);
  start = unconverted (niter.elts[!swapped].val);
  HOST_WIDE_INT less = niter.offset.coeffs[0].to_shwi ();
  tested = less == 0;
  for (const access &a : inside.accesses)
    if (less != (a.first ? -1 : 0))
      return false;
  for (const gather &g : inside.gathers)
    if (less != (g.first ? -1 : 0))
      return false;
  low = find_bound (start);
  high = find_bound (end);
  if (!low || !high || low->size != high->size || low->first != high->first)
    return false;
  sum_of (low->iv.base, &distance);
  sum_of (high->iv.base, &other);
  aff_combination_scale (&distance, -1);
  aff_combination_add (&distance, &other);
  return distance.n == 0 && !distance.rest && wi::fits_shwi_p (distance.offset.coeffs[0])
	 && distance.offset.coeffs[0].to_shwi () == low->size;
}

/* Whether a block is come to in each iteration in which the bounds are read.  */
bool
rows_of_accesses::comes_with_bounds (basic_block block)
{
  return dominated_by_p (CDI_DOMINATORS, single_exit (outer)->src, block) == low->first
	 && (low->first || dominated_by_p (CDI_DOMINATORS, outer->latch, block));
}

/* Whether an edge is taken where there is a number between the bounds, and nowhere else.  */
bool
rows_of_accesses::asks_for_numbers (edge taken)
{
  gimple_stmt_iterator gsi = gsi_last_nondebug_bb (taken->src);
  gcond *cond = gsi_end_p (gsi) ? NULL : dyn_cast<gcond *> (gsi_stmt (gsi));
  if (!cond)
    return false;
  tree one = unconverted (gimple_cond_lhs (cond)), other = unconverted (gimple_cond_rhs (cond));
  tree_code code = gimple_cond_code (cond);
  if (taken->flags & EDGE_FALSE_VALUE)
    code = invert_tree_comparison (code, false);
  if (one == end && other == start)
    code = swap_tree_comparison (code);
  else if (one != start || other != end)
    return false;
  return code == LT_EXPR || code == NE_EXPR;
}

/* Whether the inner loop is come to in all iterations in which the bounds are read, but for those without any number
   between them.  */
bool
rows_of_accesses::always_entered ()
{
  basic_block block = loop_preheader_edge (inside.l)->src;
  if (tested && comes_with_bounds (block))
    return true;
  while (single_pred_p (block) && single_succ_p (single_pred (block)) && single_pred (block)->loop_father == outer)
    block = single_pred (block);
  return single_pred_p (block) && single_pred (block)->loop_father == outer
	 && asks_for_numbers (single_pred_edge (block)) && comes_with_bounds (single_pred (block));
}

/* Whether an access of the inner loop is at an address that is its number times its step, and stays the same else.  */
bool
rows_of_accesses::take_inner (const access &a)
{
  aff_tree base;
  bool found = false;
  sum_of (a.iv.base, &base);
  if (base.rest || !tree_fits_shwi_p (a.iv.step) || integer_zerop (a.iv.step))
    return false;
  for (unsigned i = base.n; i-- > 0;)
    if (unconverted (base.elts[i].val) == start)
      {
	if (found || base.elts[i].coef != wi::to_widest (a.iv.step))
	  return false;
	found = true;
	aff_combination_remove_elt (&base, i);
      }
    else if (!expr_invariant_in_loop_p (outer, base.elts[i].val))
      return false;
  bases.safe_push (base);
  return found;
}

bool
rows_of_accesses::take_gathers ()
{
  for (const gather &g : inside.gathers)
    if (!expr_invariant_in_loop_p (outer, g.base))
      return false;
  return true;
}

/* Whether no store may change what is read at READ.  */
bool
rows_of_accesses::stays (tree read)
{
  for (gimple *store : inside.stores)
    if (may_meet (gimple_get_lhs (store), read))
      return false;
  for (gimple *store : outside.stores)
    if (may_meet (gimple_get_lhs (store), read))
      return false;
  return true;
}

/* Whether the bounds and the indices of gathers stay as they are.  */
bool
rows_of_accesses::stay ()
{
  if (!stays (gimple_assign_rhs1 (SSA_NAME_DEF_STMT (start))) || !stays (gimple_assign_rhs1 (SSA_NAME_DEF_STMT (end))))
    return false;
  for (const gather &g : inside.gathers)
    if (!stays (g.read))
      return false;
  return true;
}

/* False: it is no such nest.  */
bool
rows_of_accesses::collect ()
{
  if (!inside.collect () || !inside.has_all () || !outside.collect_around () || !outside.has_all ()
      || !outside.gathers.is_empty () || inside.gathers.length () + inside.accesses.length () == 0)
    return false;
  if (!find_bounds () || !always_entered () || !take_gathers () || !stay ())
    return false;
  for (const access &a : inside.accesses)
    if (!take_inner (a))
      return false;
  return true;
}

/* Where an access is whose address is BASE and its step times NUMBER.  */
tree
place_of (const aff_tree &base, const access &a, tree number, gimple_seq *seq)
{
  aff_tree at = base;
  tree start = operand (aff_combination_to_tree (&at), long_unsigned_type_node, seq);
  tree step = operand (a.iv.step, long_unsigned_type_node, seq);
  tree distance = named (MULT_EXPR, long_unsigned_type_node, number, step, seq);
  return operand (named (PLUS_EXPR, long_unsigned_type_node, start, distance, seq), ptr_type_node, seq);
}

/* The number AT of the bounds.  */
tree
rows_of_accesses::bound (tree at, tree ok, gimple_seq *seq)
{
  tree first = operand (low->iv.base, ptr_type_node, seq), number = make_ssa_name (long_unsigned_type_node);
  gcall *call = gimple_build_call (decl_of (BOUND), 5, first, at, rows, build_int_cst (integer_type_node, low->size),
				   ok);
  gimple_call_set_lhs (call, number);
  gimple_seq_add_stmt (seq, call);
  return number;
}

/* Whether the bounds do not decrease, and are numbers that no conversion changes.  */
tree
rows_of_accesses::ask_rows (tree before, gimple_seq *seq)
{
  rows = outside.times (low->first, seq);
  tree first = operand (low->iv.base, ptr_type_node, seq);
  gcall *call
    = gimple_build_call (decl_of (ROWS), 4, first, rows, build_int_cst (integer_type_node, low->size), before);
  tree answer = answer_of (call, gimple_location (low->call), seq);
  from = bound (build_zero_cst (long_unsigned_type_node), answer, seq);
  total = named (MINUS_EXPR, long_unsigned_type_node, bound (rows, answer, seq), from, seq);
  return answer;
}

/* Ask for what both loops read, or write.  */
tree
rows_of_accesses::ask_both (bool writes, tree before, gimple_seq *seq)
{
  for (const access &a : outside.accesses)
    if (a.writes == writes && &a != low && &a != high)
      before = outside.ask (a, before, seq);
  for (unsigned i = 0; i < inside.accesses.length (); i++)
    {
      const access &a = inside.accesses[i];
      if (a.writes == writes)
	before = inside.ask_at (a, place_of (bases[i], a, from, seq), total, before, seq);
    }
  for (const gather &g : inside.gathers)
    if (g.writes == writes)
      {
	const access &index = inside.accesses[g.index];
	before = inside.ask_gather_at (g, place_of (bases[g.index], index, from, seq), total, before, seq);
      }
  return before;
}

void
rows_of_accesses::version ()
{
  gimple_seq seq = NULL;
  tree answer = outside.ask (*low, integer_one_node, &seq);
  answer = outside.ask (*high, answer, &seq);
  answer = ask_rows (answer, &seq);
  answer = ask_both (false, answer, &seq);
  answer = ask_both (true, answer, &seq);
  gsi_insert_seq_on_edge_immediate (loop_preheader_edge (outer), seq);
  if (version_loop (outer, answer))
    {
      outside.remove_calls ();
      inside.remove_calls ();
    }
  mark_virtual_operands_for_renaming (cfun);
  update_ssa (TODO_update_ssa);
  scev_reset ();
}
