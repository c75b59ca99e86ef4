package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// Content is what a generation holds.
type Content struct {
	Meaning *project.Meaning  `json:"meaning"`
	Sources map[string]string `json:"sources"` // digests of the declarations it came from
	Lock    string            `json:"lock"`    // digest of jig.lock
	Plan    string            `json:"plan"`    // digest of the plan that was approved
}

// ReadContent reads the content of an admission; nil where there is none.
func ReadContent(a state.Admission) (*Content, error) {
	if a.Number == 0 {
		return nil, nil
	}
	var c Content
	if err := json0.Decode(a.Content, &c); err != nil {
		return nil, fmt.Errorf("%w: what was admitted cannot be read", state.ErrInvalid)
	}
	if c.Meaning == nil || c.Meaning.Format != project.Format {
		return nil, fmt.Errorf("%w: what was admitted has another format", state.ErrInvalid)
	}
	return &c, nil
}

// Plan is what a review would admit.
type Plan struct {
	Digest    string
	Base      int64 // number of the generation it follows; 0: none
	BasePlan  string
	Changes   []Change
	Candidate *project.Candidate
	// Repair is true where only jig.lock is not what it should be.
	Repair bool

	same bool // means the same as what is admitted
}

// Unchanged says that there is nothing to approve.
func (p *Plan) Unchanged() bool { return len(p.Changes) == 0 }

// Authority says whether approving p gives somebody a power that was not
// approved before.
func (p *Plan) Authority() bool {
	for _, c := range p.Changes {
		if c.Authority() {
			return true
		}
	}
	return false
}

// New compares a candidate with what is admitted. dir is the project's folder,
// whose jig.lock is looked at.
func New(dir string, a state.Admission, c *project.Candidate) (*Plan, error) {
	p := &Plan{Base: a.Number, Candidate: c}
	base, err := ReadContent(a)
	if err != nil {
		return nil, err
	}
	before := project.Empty()
	if base != nil {
		before, p.BasePlan = base.Meaning, base.Plan
	}
	if p.Changes, err = Diff(before, c.Meaning); err != nil {
		return nil, err
	}
	p.same = base != nil && len(p.Changes) == 0
	if p.same || base == nil && len(p.Changes) == 0 {
		change, err := lockChange(dir, c.Lock)
		if err != nil {
			return nil, err
		}
		if change != nil {
			p.Changes = append(p.Changes, *change)
			p.Repair = p.same
		}
	}
	p.Digest, err = p.digest()
	return p, err
}

func (p *Plan) digest() (string, error) {
	meaning, err := p.Candidate.Meaning.Canonical()
	if err != nil {
		return "", err
	}
	b, err := json0.Marshal(struct {
		Base     int64          `json:"base"`
		BasePlan string         `json:"basePlan"`
		Meaning  jsontext.Value `json:"meaning"`
		Lock     string         `json:"lock"`
	}{p.Base, p.BasePlan, meaning, digestBytes(p.Candidate.Lock)})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write([]byte(project.Format))
	h.Write([]byte{0})
	h.Write(b)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// maxLockBytes bounds how much of a jig.lock is compared.
const maxLockBytes = 16 << 20

// lockChange says how jig.lock differs from want; nil where it does not.
func lockChange(dir string, want []byte) (*Change, error) {
	after, err := json0.Marshal(digestBytes(want))
	if err != nil {
		return nil, err
	}
	c := &Change{Kind: KindLock, Op: OpAdd, Subject: project.LockName, After: after}
	have, err := readLock(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		c.Op, c.Before = OpChange, jsontext.Value(`"unreadable"`)
		return c, nil
	case bytes.Equal(have, want):
		return nil, nil
	}
	c.Op = OpChange
	c.Before, err = json0.Marshal(digestBytes(have))
	return c, err
}

func readLock(dir string) ([]byte, error) {
	path := filepath.Join(dir, project.LockName)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no plain file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxLockBytes))
}

// LockDrifted says whether jig.lock is missing or is not what was published.
func LockDrifted(dir string, c *Content) bool {
	have, err := readLock(dir)
	return err != nil || digestBytes(have) != c.Lock
}
