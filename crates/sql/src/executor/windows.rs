//! Window functions: computed of a block's rows after they are grouped, before they are told apart,
//! sorted and limited.
//!
//! 1. add     Each row is encoded, and goes to the sort of the first step, or to a queue where any
//!    order will do.
//! 2. step    The rows come out partition by partition. Where every call of the step needs no more
//!    than the rows so far, each row goes on at once ([`stream`]); else a partition is buffered
//!    ([`partition`]), and goes on when it is complete. The row goes to the sort of the next step.
//! 3. finish  What the last step gives are the block's rows.
//!
//! (W3) Nothing grows with the rows but sorts, queues and row sets that go on in temporary files
//!      ([`crate::spill`]); of a step its input, one partition and its output are kept at a time.
//! (W4) A frame's bounds move forward with the current row: each is found from the last one, and
//!      aggregates take in and out the rows between. Where they can't be taken out exactly the
//!      frame is aggregated anew, as in MySQL.

mod aggregates;
mod bounds;
mod extreme;
mod partition;
mod stream;

use smallvec::SmallVec;

use self::partition::Partition;
use self::stream::Stream;
use super::group::EachGroup;
use crate::expression::frame::Frame;
use crate::expression::{OrderTerm, aggregate};
use crate::planner::windows::{WindowStep, Windows};
use crate::session::Context;
use crate::spill::queue::RecordQueue;
use crate::spill::sort::{Sorted, Sorter};
use crate::spill::{Purpose, codec};
use crate::status::Counter;
use datum::error::Result;
use datum::value::Datum;

/// Bytes that the end of a term's key takes in front of a row.
const END: usize = 4;

/// The rows of a block on their way through its window functions.
pub(super) struct WindowRows<'p> {
    plan: &'p Windows,
    slots: SmallVec<[usize; 8]>,
    input: Option<Input<'p>>,
}

impl<'p> WindowRows<'p> {
    /// None yet; rows have so many slots.
    pub(super) fn new(cx: &Context, plan: &'p Windows, slots: usize) -> Self {
        let input = plan.steps.first().map(|step| Input::new(cx, step));
        Self { plan, slots: (0..slots).collect(), input }
    }

    /// Takes the frame's row in.
    pub(super) fn add(&mut self, cx: &mut Context, frame: &Frame) -> Result<()> {
        match &mut self.input {
            Some(input) => input.push(cx, frame, &self.slots, None),
            None => Ok(()),
        }
    }

    /// Calls `each` with the rows, their window functions computed, until it says false. Returns
    /// how many there were.
    pub(super) fn finish(mut self, cx: &mut Context, frame: &mut Frame, each: EachGroup<'_>) -> Result<u64> {
        let mut given = 0;
        for (number, step) in self.plan.steps.iter().enumerate() {
            let Some(input) = self.input.take() else { break };
            let mut records = input.finish(cx)?;
            let mut next = self.plan.steps.get(number + 1).map(|step| Input::new(cx, step));
            let slots = &self.slots;
            let mut out = |cx: &mut Context, frame: &mut Frame, key: SortKey<'_>| match &mut next {
                Some(next) => next.push(cx, frame, slots, Some(key)).map(|()| true),
                None => {
                    given += 1;
                    each(cx, frame)
                }
            };
            let following = self.plan.steps.get(number + 1);
            let partition = match step.streams {
                true => None,
                false => Some(Partition::new(cx, self.plan, step, following.is_some_and(is_keyed))?),
            };
            let mut run = StepRun { plan: self.plan, step, slots, partition };
            run.finish(cx, frame, &mut records, &mut out)?;
            self.input = next;
        }
        Ok(given)
    }
}

/// Where a step's rows go, with their keys; false if no more are wanted.
type Out<'o> = &'o mut dyn FnMut(&mut Context, &mut Frame, SortKey<'_>) -> Result<bool>;

/// One pass over the sorted rows, which computes the calls of its step.
struct StepRun<'r, 'p> {
    plan: &'p Windows,
    step: &'p WindowStep,
    slots: &'r [usize],
    /// Absent where rows go on at once.
    partition: Option<Partition<'p>>,
}

impl StepRun<'_, '_> {
    /// Takes the step's rows, and hands them on.
    fn finish(
        &mut self,
        cx: &mut Context,
        frame: &mut Frame,
        records: &mut Records,
        out: Out<'_>,
    ) -> Result<()> {
        let mut stream = Stream::new(self.plan, self.step);
        let mut last = Vec::new();
        let mut is_first = true;
        while let Some((key, record)) = records.advance()? {
            frame.tick(cx)?;
            let (key, row) = SortKey::split(key, record, self.step.terms.len());
            let common = if is_first { 0 } else { key.terms_in_common(&last) };
            let begins = is_first || common < self.step.partition;
            if begins
                && let Some(partition) = &mut self.partition
                && !partition.finish(cx, frame, self.slots, out)?
            {
                return Ok(());
            }
            frame.take_row(self.slots, row)?;
            frame.windows.resize(self.plan.calls.len(), Datum::Null);
            let common = if begins { None } else { Some(common) };
            if let Some(partition) = &mut self.partition {
                partition.add(cx, frame, key, row, common)?;
            } else {
                stream.next(cx, frame, common)?;
                if !out(cx, frame, key)? {
                    return Ok(());
                }
            }
            last.clear();
            last.extend_from_slice(key.bytes);
            is_first = false;
        }
        match &mut self.partition {
            Some(partition) => partition.finish(cx, frame, self.slots, out).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// The key that a row was sorted by, and where in it each term ends.
#[derive(Debug, Clone, Copy, Default)]
struct SortKey<'k> {
    bytes: &'k [u8],
    /// Four bytes each, little-endian.
    ends: &'k [u8],
}

impl<'k> SortKey<'k> {
    /// A record's key, and its row.
    fn split(bytes: &'k [u8], record: &'k [u8], terms: usize) -> (Self, &'k [u8]) {
        let (ends, row) = record.split_at_checked(terms * END).unwrap_or((&[], record));
        (Self { bytes, ends }, row)
    }

    /// How many of the first terms are the same as those of another row. Terms' keys are no
    /// prefixes of each other: where the bytes are the same the terms end alike.
    fn terms_in_common(&self, other: &[u8]) -> usize {
        let same = self.bytes.iter().zip(other).take_while(|(a, b)| a == b).count();
        let ends = self.ends.chunks_exact(END).map(|end| {
            let end = end.first_chunk().map_or(0, |end| u32::from_le_bytes(*end));
            usize::try_from(end).unwrap_or(usize::MAX)
        });
        ends.take_while(|end| *end <= same).count()
    }
}

/// The rows that a step is to read: a key and a row each.
struct Input<'p> {
    terms: &'p [OrderTerm],
    rows: Rows,
    /// The rows come with their keys.
    keyed: bool,
    key: Vec<u8>,
    record: Vec<u8>,
}

/// True if a step's rows come sorted from the step before.
fn is_keyed(step: &WindowStep) -> bool {
    !step.sorts && !step.terms.is_empty()
}

enum Rows {
    Sorter(Sorter),
    Queue(RecordQueue),
}

impl<'p> Input<'p> {
    fn new(cx: &Context, step: &'p WindowStep) -> Self {
        let rows = match step.sorts {
            true => Rows::Sorter(Sorter::new(cx.budget(Purpose::Sort), u64::MAX)),
            false => {
                cx.count(Counter::CreatedTmpTables);
                Rows::Queue(RecordQueue::new(cx.budget(Purpose::Table)))
            }
        };
        Self { terms: &step.terms, rows, keyed: is_keyed(step), key: Vec::new(), record: Vec::new() }
    }

    /// Takes the frame's row in, which comes from the step before with its key there.
    fn push(
        &mut self,
        cx: &mut Context,
        frame: &Frame,
        slots: &[usize],
        before: Option<SortKey<'_>>,
    ) -> Result<()> {
        self.key.clear();
        self.record.clear();
        match before.filter(|_| self.keyed) {
            Some(SortKey { bytes, ends }) => {
                self.key.extend_from_slice(bytes);
                self.record.extend_from_slice(ends);
            }
            None => {
                for OrderTerm { expr, descending } in self.terms {
                    let start = self.key.len();
                    aggregate::sort_key(&expr.eval(cx, frame.row())?, &expr.ty, &mut self.key)?;
                    if *descending {
                        self.key.iter_mut().skip(start).for_each(|b| *b = !*b);
                    }
                    let end = u32::try_from(self.key.len()).unwrap_or(u32::MAX);
                    self.record.extend_from_slice(&end.to_le_bytes());
                }
            }
        }
        frame.put_row(slots, &mut self.record);
        match &mut self.rows {
            Rows::Sorter(sorter) => sorter.push(&self.key, &self.record),
            Rows::Queue(queue) => {
                let mut entry = Vec::with_capacity(self.key.len() + self.record.len() + END);
                codec::put_text(&self.key, &mut entry);
                entry.extend_from_slice(&self.record);
                queue.push(&entry)
            }
        }
    }

    /// The rows in order.
    fn finish(self, cx: &Context) -> Result<Records> {
        Ok(match self.rows {
            Rows::Sorter(sorter) => {
                cx.count(Counter::SortScan);
                Records::Sorted(sorter.finish()?)
            }
            Rows::Queue(queue) => Records::Queue(Box::new(queue)),
        })
    }
}

/// The rows that a step reads.
enum Records {
    Sorted(Sorted),
    Queue(Box<RecordQueue>),
}

impl Records {
    /// The next row's key and record.
    fn advance(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match self {
            Records::Sorted(sorted) => sorted.advance(),
            Records::Queue(queue) => match queue.take()? {
                Some(mut record) => {
                    let key = codec::take_text(&mut record)?;
                    Ok(Some((key, record)))
                }
                None => Ok(None),
            },
        }
    }
}
