package journal

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// View selects what of a journal session.history shows.
type View struct {
	After    int64 // records with a greater n
	Limit    int   // at most so many records; 0 means 200
	MaxBytes int   // at most so many encoded bytes, commas between records included; 0 means MaxRecordBytes
	Ordinary bool  // leave out application_manifest members and tool_contract records
}

// Page is a run of records as session.history shows them.
type Page struct {
	Records   []jsontext.Value // whole, in order, as the daemon encodes them; at least one where there is one
	NextAfter int64            // the n of the last record; 0 is null: nothing that the view shows follows
}

// Read returns a page of durable records. It reads no more of the journal than the page, and up to 63 records before it.
func (s *Session) Read(v View) (Page, error) {
	if v.After < 0 || v.Limit < 0 || v.MaxBytes < 0 {
		return Page{}, errors.New("a negative view")
	}
	limit, budget := v.Limit, v.MaxBytes
	if limit == 0 {
		limit = 200
	}
	if budget == 0 {
		budget = MaxRecordBytes
	}
	var page Page
	s.mu.RLock()
	last, size, from := s.n, s.size, int64(0)
	if v.After < last {
		from = s.every[v.After/stride]
	}
	s.mu.RUnlock()
	if v.After >= last {
		return page, nil
	}
	l := readLines(s.file, from, size)
	for {
		rec, err := nextRecord(l)
		if errors.Is(err, io.EOF) {
			page.NextAfter = 0
			return page, nil
		}
		if err != nil {
			return Page{}, err
		}
		if rec.Head().N <= v.After || !show(rec, v.Ordinary) {
			continue
		}
		if len(page.Records) == limit {
			return page, nil
		}
		raw, err := wirev2.EncodeRecord(rec)
		if err != nil {
			return Page{}, fmt.Errorf("encode a record: %w", err)
		}
		budget -= len(raw)
		if len(page.Records) > 0 {
			budget-- // the comma
			if budget < 0 {
				return page, nil
			}
		}
		page.Records = append(page.Records, raw)
		page.NextAfter = rec.Head().N
	}
}

// show takes out of rec what an ordinary connection does not see, and reports whether it sees rec at all.
func show(rec wirev2.Record, ordinary bool) bool {
	if !ordinary {
		return true
	}
	switch r := rec.(type) {
	case *wirev2.ToolContractRecord:
		return false
	case *wirev2.UserRecord:
		r.ApplicationManifest = wirev2.ManifestMember{}
	}
	return true
}

// nextRecord reads a record of a journal that was checked before.
func nextRecord(l *lines) (wirev2.Record, error) {
	line, _, err := l.line()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err == nil {
		var rec wirev2.Record
		if rec, err = decode(line); err == nil {
			return rec, nil
		}
	}
	return nil, fmt.Errorf("read the journal: %w", cause(err))
}

// Entries reads a journal from its first record to its last whole one, without the writer lease, one record in memory
// at a time. A bad line ends it with a *DamageError. It stops at what the journal held when it began; the records of an
// Append that is under way may be among them.
func (s *Store) Entries(id wirev2.ID) iter.Seq2[wirev2.Record, error] {
	return func(yield func(wirev2.Record, error) bool) {
		f, err := s.openJournal(id, os.O_RDONLY)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			yield(nil, fmt.Errorf("look at the journal: %w", cause(err)))
			return
		}
		scan := scanner{id: id, lines: readLines(f, 0, info.Size())}
		for {
			rec, _, err := scan.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, readFault(err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}
