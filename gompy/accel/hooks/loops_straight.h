/* Accesses of code that stands in a row, in no loop that is asked about: what lies side by side is asked about at once.

   Such a row has no calls but those that tell, and functions without effects.  Reads whose addresses differ by numbers
   only, and leave no gap, are one span; so are writes.  A few spans are asked about with one call first, whether all
   go on where they were last (loops_steps.h, or gompy_access_row); then one by one.  Where all spans are answered for,
   a copy of the row runs that does not tell.  Otherwise it runs as it is: what is wrong is told exactly.

   Included once, by loops.cc.  */

const unsigned LEAST_SAVED = 2;	      /* calls, or a copy is not worth it */
const unsigned MOST_TOLD = 64;	      /* calls of a row */
const HOST_WIDE_INT FARTHEST = 4096;  /* bytes from the first access of a base */
const HOST_WIDE_INT MOST_BYTES = 255; /* of a span */
const unsigned TOGETHER = STEPS;      /* spans that one call asks about */

/* An access of a row: LOW to HIGH are bytes from the first of its base.  */
struct member
{
  gcall *call;
  unsigned base;
  HOST_WIDE_INT low, high;
};

/* Members that leave no gap.  */
struct span
{
  unsigned first;
  HOST_WIDE_INT bytes;
};

/* Where the addresses of some accesses begin.  */
struct base
{
  aff_tree at; /* of the first */
  bool writes;
};

class row_of_accesses
{
public:
  row_of_accesses () : head (NULL), last (NULL), left_reads (false), left (0) {}
  void collect (gimple_stmt_iterator *gsi);
  bool version (hash_set<basic_block> &cold);

private:
  enum kind { INSIDE, BEHIND, BREAK };
  kind look (gimple *stmt);
  kind take (gcall *call, int size, bool writes);
  bool is_before (tree value);
  unsigned span_from (unsigned first, HOST_WIDE_INT *bytes) const;
  void find_spans ();
  tree place_of_span (const span &s, gimple_seq *seq) const;
  int kind_of (const span &s) const { return bases[members[s.first].base].writes ? WRITES : 0; }
  tree ask_each (gimple_seq *seq) const;
  void place_spans (tree *places, gimple_seq *seq) const;
  tree ask_together (const tree *places, const site_of_code *site, gimple_seq *seq) const;
  basic_block ask_as_one (basic_block before, edge to_good, edge no) const;
  void remove_from (basic_block row, basic_block copy);

  gimple *head, *last; /* the first call that tells; the last statement */
  bool left_reads;     /* some are told of one by one */
  unsigned left;
  auto_vec<base> bases;
  auto_vec<member> members;
  auto_vec<span> spans;
  hash_set<gimple *> inside;
};

/* Whether VALUE, of an address, is there before the row.  */
bool
row_of_accesses::is_before (tree value)
{
  STRIP_NOPS (value);
  if (TREE_CODE (value) == SSA_NAME)
    return SSA_NAME_IS_DEFAULT_DEF (value) || !inside.contains (SSA_NAME_DEF_STMT (value));
  return is_gimple_min_invariant (value);
}

row_of_accesses::kind
row_of_accesses::take (gcall *call, int size, bool writes)
{
  hash_map<tree, name_expansion *> *cache = NULL;
  tree address = gimple_call_arg (call, 0);
  aff_tree at;
  tree_to_aff_combination_expand (address, TREE_TYPE (address), &at, &cache);
  free_affine_expand_cache (&cache);
  bool known = !at.rest;
  for (unsigned i = 0; i < at.n; i++)
    known &= is_before (at.elts[i].val);
  if (!known)
    return BEHIND;
  for (unsigned i = 0; i < bases.length (); i++)
    {
      aff_tree distance = bases[i].at;
      if (bases[i].writes != writes)
	continue;
      aff_combination_scale (&distance, -1);
      aff_combination_add (&distance, &at);
      if (distance.n != 0 || distance.rest || !wi::fits_shwi_p (distance.offset.coeffs[0]))
	continue;
      HOST_WIDE_INT low = distance.offset.coeffs[0].to_shwi ();
      if (low >= -FARTHEST && low <= FARTHEST)
	{
	  members.safe_push ({ call, i, low, low + size });
	  return INSIDE;
	}
    }
  members.safe_push ({ call, bases.length (), 0, size });
  bases.safe_push ({ at, writes });
  return INSIDE;
}

/* Whether STMT is in the row; or it ends it, and another may begin with it, or behind it.  */
row_of_accesses::kind
row_of_accesses::look (gimple *stmt)
{
  bool writes = false;
  if (gimple_code (stmt) == GIMPLE_ASM || stmt_ends_bb_p (stmt) || stmt_could_throw_p (cfun, stmt))
    return BREAK;
  gcall *call = dyn_cast<gcall *> (stmt);
  if (!call)
    return INSIDE;
  int size = accessed (call, &writes);
  if (size == 0)
    return gimple_call_flags (call) & (ECF_CONST | ECF_PURE) ? INSIDE : BREAK;
  if (members.length () + left == MOST_TOLD)
    return BEHIND;
  kind k = take (call, size, writes);
  if (k == BEHIND && !head) /* an address of its own kind */
    {
      left++;
      left_reads |= !writes;
      k = INSIDE;
    }
  if (!head)
    head = stmt;
  return k;
}

/* Find a row from GSI on, which is put where the next may begin.  */
void
row_of_accesses::collect (gimple_stmt_iterator *gsi)
{
  for (; !gsi_end_p (*gsi); gsi_next (gsi))
    {
      gimple *stmt = gsi_stmt (*gsi);
      kind k = look (stmt);
      if (k == BREAK)
	gsi_next (gsi);
      if (k != INSIDE)
	return;
      if (head)
	inside.add (stmt);
      last = stmt;
    }
}

int
by_place (const void *p, const void *q)
{
  const member *a = (const member *) p, *b = (const member *) q;
  if (a->base != b->base)
    return a->base < b->base ? -1 : 1;
  if (a->low != b->low)
    return a->low < b->low ? -1 : 1;
  return a->high < b->high ? -1 : a->high > b->high;
}

/* The members from FIRST on that leave no gap: what follows them.  */
unsigned
row_of_accesses::span_from (unsigned first, HOST_WIDE_INT *bytes) const
{
  const member &m = members[first];
  HOST_WIDE_INT high = m.high;
  unsigned i = first + 1;
  for (; i < members.length () && members[i].base == m.base && members[i].low <= high
	 && MAX (high, members[i].high) - m.low <= MOST_BYTES;
       i++)
    high = MAX (high, members[i].high);
  *bytes = high - m.low;
  return i;
}

/* Reads before writes.  */
void
row_of_accesses::find_spans ()
{
  members.qsort (by_place);
  for (int writes = 0; writes < 2; writes++)
    for (unsigned i = 0, next; i < members.length (); i = next)
      {
	span s = { i, 0 };
	next = span_from (i, &s.bytes);
	if (bases[members[i].base].writes == (writes != 0))
	  spans.safe_push (s);
      }
}

tree
row_of_accesses::place_of_span (const span &s, gimple_seq *seq) const
{
  aff_tree at = bases[members[s.first].base].at;
  at.offset += members[s.first].low;
  return operand (aff_combination_to_tree (&at), ptr_type_node, seq);
}

/* Ask for all spans, one by one.  */
tree
row_of_accesses::ask_each (gimple_seq *seq) const
{
  tree answer = integer_one_node;
  for (unsigned i = 0; i < spans.length (); i++)
    {
      const span &s = spans[i];
      int kind = 1 | kind_of (s) | (left_reads ? ALONE : 0);
      if (spans.length () <= TOGETHER)
	kind |= IN_ROW | i << SPAN_SHIFT;
      gcall *call = gimple_build_call (decl_of (RANGE), 5, place_of_span (s, seq),
				       build_int_cst (long_integer_type_node, 1),
				       build_int_cst (long_unsigned_type_node, s.bytes),
				       build_int_cst (integer_type_node, kind), answer);
      answer = answer_of (call, gimple_location (members[s.first].call), seq);
    }
  return answer;
}

/* Where TOGETHER spans are, or fewer.  */
void
row_of_accesses::place_spans (tree *places, gimple_seq *seq) const
{
  for (unsigned i = 0; i < TOGETHER; i++)
    places[i] = i < spans.length () ? place_of_span (spans[i], seq) : null_pointer_node;
}

/* Ask whether all of them go on where they were last.  SITE: the row's; NULL: it has none.  */
tree
row_of_accesses::ask_together (const tree *places, const site_of_code *site, gimple_seq *seq) const
{
  unsigned HOST_WIDE_INT kinds = 0;
  for (unsigned i = 0; i < spans.length (); i++)
    kinds |= (unsigned HOST_WIDE_INT) (kind_of (spans[i]) | spans[i].bytes) << i * SPAN_BITS;
  tree which = build_int_cstu (long_unsigned_type_node, kinds);
  gcall *call = site ? gimple_build_call (decl_of (ROW_AT), 6, which, places[0], places[1], places[2], places[3],
					  site->address ())
		     : gimple_build_call (decl_of (ROW), 5, which, places[0], places[1], places[2], places[3]);
  return answer_of (call, gimple_location (head), seq);
}

/* Have BEFORE ask whether all go on where they were last, and go TO_GOOD if they do, else by NO.  The block that then
   is to ask for each.  */
basic_block
row_of_accesses::ask_as_one (basic_block before, edge to_good, edge no) const
{
  gimple_seq first = NULL, then = NULL, last = NULL;
  tree places[TOGETHER];
  unsigned sizes[TOGETHER];
  place_spans (places, &first);
  if (!has_steps ())
    {
      tree known = ask_together (places, NULL, &first);
      decide (before, first, known, to_good, no);
      return split_edge (no);
    }
  site_of_code site;
  for (unsigned i = 0; i < spans.length (); i++)
    sizes[i] = spans[i].bytes;
  basic_block good = to_good->dest, look = split_edge (to_good);
  tree distance = site.has_any (&first);
  decide (before, first, distance, single_pred_edge (look), no);
  basic_block call = split_edge (no);
  edge forwards = single_succ_edge (look);
  tree fine = site.goes_on (places, sizes, spans.length (), distance, &then);
  decide (look, then, fine, forwards, make_edge (look, call, 0));
  site.move (split_edge (forwards));
  no = single_succ_edge (call);
  tree known = ask_together (places, &site, &last);
  decide (call, last, known, make_edge (call, good, 0), no);
  return split_edge (no);
}

/* The calls that were asked about go from the COPY of a ROW.  */
void
row_of_accesses::remove_from (basic_block row, basic_block copy)
{
  hash_set<gimple *> asked;
  auto_vec<gcall *> calls;
  for (member &m : members)
    asked.add (m.call);
  gimple_stmt_iterator of_copy = gsi_start_bb (copy);
  for (gimple_stmt_iterator gsi = gsi_start_bb (row); !gsi_end_p (gsi); gsi_next (&gsi))
    {
      if (!is_gimple_call (gsi_stmt (gsi)))
	continue;  /* debug statements of labels have no copies (gimple_duplicate_bb) */
      while (!is_gimple_call (gsi_stmt (of_copy)))
	gsi_next (&of_copy);
      if (asked.contains (gsi_stmt (gsi)))
	calls.safe_push (as_a<gcall *> (gsi_stmt (of_copy)));
      gsi_next (&of_copy);
    }
  for (gcall *call : calls)
    remove_call (call);
}

/* False: it is not worth it.  The row as it was is COLD then.  */
bool
row_of_accesses::version (hash_set<basic_block> &cold)
{
  gimple_seq each = NULL;
  find_spans ();
  if (members.length () < spans.length () + LEAST_SAVED)
    return false;
  tree answer = ask_each (&each);
  gimple_stmt_iterator gsi = gsi_for_stmt (head);
  gsi_prev (&gsi);
  basic_block before = gimple_bb (head);
  edge to_row = gsi_end_p (gsi) ? split_block_after_labels (before) : split_block (before, gsi_stmt (gsi));
  basic_block row = to_row->dest;
  split_block (row, last);
  basic_block good = split_edge (to_row);
  edge in = single_succ_edge (good), no = make_edge (before, row, 0);
  if (spans.length () <= TOGETHER)
    {
      before = ask_as_one (before, single_pred_edge (good), no);
      decide (before, each, answer, make_edge (before, good, 0), single_succ_edge (before));
    }
  else
    decide (before, each, answer, single_pred_edge (good), no);
  initialize_original_copy_tables ();
  basic_block copy = duplicate_block (row, in, NULL);
  add_phi_args_after_copy_bb (copy);
  remove_from (row, copy);
  free_original_copy_tables ();
  cold.add (row);
  return true;
}

/* Ask about rows of a function, and the accesses that are in none.  */
void
ask_about_rows ()
{
  auto_vec<basic_block> blocks;
  hash_set<basic_block> cold;
  basic_block block;
  bool changed = false;
  if (cfun->calls_setjmp || cfun->has_nonlocal_label)
    return;
  FOR_EACH_BB_FN (block, cfun)
    if (!block->loop_father || !block->loop_father->dont_vectorize)
      blocks.safe_push (block);
  free_dominance_info (CDI_DOMINATORS);
  for (basic_block b : blocks)
    {
      gimple_stmt_iterator gsi = gsi_after_labels (b);
      while (!gsi_end_p (gsi))
	{
	  row_of_accesses row;
	  row.collect (&gsi);
	  gimple *next = gsi_end_p (gsi) ? NULL : gsi_stmt (gsi);
	  changed |= row.version (cold);
	  if (!next)
	    break;
	  gsi = gsi_for_stmt (next);
	}
    }
  changed |= give_sites (cold);
  if (!changed)
    return;
  mark_virtual_operands_for_renaming (cfun);
  update_ssa (TODO_update_ssa);
}
