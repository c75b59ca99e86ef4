package server

// ring is a queue of records in one slice, which grows with use and is reused. Records are known by
// their number, counted from the first ever pushed.
type ring struct {
	items  []record
	first  int // of items, in the slice
	popped int // records that have left
}

func (r *ring) len() int { return len(r.items) - r.first }

// push adds a record and returns its number.
func (r *ring) push(item record) int {
	if r.first > 0 && len(r.items) == cap(r.items) {
		n := copy(r.items, r.items[r.first:])
		clear(r.items[n:])
		r.items, r.first = r.items[:n], 0
	}
	r.items = append(r.items, item)
	return r.popped + r.len() - 1
}

// pop removes the first record and returns it with its number.
func (r *ring) pop() (record, int) {
	item := r.items[r.first]
	r.items[r.first] = record{} // lets go of what it holds
	r.first++
	r.popped++
	if r.first == len(r.items) {
		r.items, r.first = r.items[:0], 0
	}
	return item, r.popped - 1
}

// at is the record of that number, which must be queued, to be changed in place.
func (r *ring) at(number int) *record { return &r.items[r.first+number-r.popped] }
