package state

import "github.com/go-json-experiment/json/jsontext"

// Admission is what may run: the content of the generation that a review
// admitted last. Number 0 is none.
type Admission struct {
	Number  int64          `json:"number"`
	Content jsontext.Value `json:"content,omitzero"`
}

// Admission returns what may run. A copied .jig has none.
func (t *Tx) Admission() (Admission, error) {
	if t.moved {
		return Admission{}, nil
	}
	var a Admission
	return a, t.get(admissionBucket, headKey, &a)
}

// Admit makes content the next generation after base, which has to be the one
// that is admitted now; else it returns [ErrStale].
func (t *Tx) Admit(base int64, content jsontext.Value) (int64, error) {
	if err := t.Own(); err != nil {
		return 0, err
	}
	now, err := t.Admission()
	if err != nil {
		return 0, err
	}
	if now.Number != base {
		return 0, fail(ErrStale, "something else was admitted meanwhile")
	}
	return base + 1, t.put(admissionBucket, headKey, Admission{Number: base + 1, Content: content})
}

// Refresh replaces the content of generation number, which has to be admitted.
// For what says how the generation came about, not for what it means.
func (t *Tx) Refresh(number int64, content jsontext.Value) error {
	now, err := t.Admission()
	if err != nil {
		return err
	}
	if now.Number != number {
		return fail(ErrStale, "something else was admitted meanwhile")
	}
	return t.put(admissionBucket, headKey, Admission{Number: number, Content: content})
}
