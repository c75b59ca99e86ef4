package acpprofile

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits bounds a conversation. 0 means the default.
type Limits struct {
	FrameBytes      int // one frame of either side; default 16,777,216
	AdapterBytes    int // all frames of the adapter; default 8,388,608
	AdapterFrames   int // default 64
	NativeBytes     int // all lines of the native client, without newlines; default 33,554,432
	NativeFrames    int // default 8,192
	Updates         int // withheld ones included; default 4,096
	TextBytes       int // assistant text; default 8,388,608
	Permissions     int // distinct requests; default 256
	PromptBytes     int // text of one prompt; default 1,048,576
	IdentifierBytes int // default 1,024
}

func (l Limits) withDefaults() (Limits, error) {
	for _, f := range []struct {
		at  *int
		def int
	}{
		{&l.FrameBytes, 16 << 20}, {&l.AdapterBytes, 8 << 20}, {&l.AdapterFrames, 64}, {&l.NativeBytes, 32 << 20}, {&l.NativeFrames, 8192},
		{&l.Updates, 4096}, {&l.TextBytes, 8 << 20}, {&l.Permissions, 256}, {&l.PromptBytes, 1 << 20}, {&l.IdentifierBytes, 1024},
	} {
		if *f.at < 0 {
			return l, errors.New("acpprofile: a limit is negative")
		}
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	return l, nil
}

// Setting is one reviewed configuration entry: a string, or a Boolean.
type Setting struct {
	ID      string
	Value   string // where Boolean is nil
	Boolean *bool
}

// Config is what was reviewed. It is copied.
type Config struct {
	Client           string    // codex, claude or pi; only codex has a reason of its own
	Configuration    []Setting // in order; at most 16
	ModeID           string    // empty: none
	MaxTurns         int       // 1 to 8
	RestoreSessionID string    // empty: a new session
	Limits           Limits
}

// identifier says whether s is a nonempty text without NUL within the bound.
func identifier(s string, most int) bool {
	return s != "" && len(s) <= most && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// New returns a machine at the beginning of a conversation.
func New(c Config) (*Machine, error) {
	l, err := c.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	switch {
	case c.MaxTurns < 1 || c.MaxTurns > 8:
		return nil, fmt.Errorf("acpprofile: %d prompts; 1 to 8 are allowed", c.MaxTurns)
	case len(c.Configuration) > 16:
		return nil, errors.New("acpprofile: more than 16 configuration entries")
	case c.ModeID != "" && !identifier(c.ModeID, l.IdentifierBytes):
		return nil, errors.New("acpprofile: the mode is no identifier")
	case c.RestoreSessionID != "" && !identifier(c.RestoreSessionID, l.IdentifierBytes):
		return nil, errors.New("acpprofile: the session is no identifier")
	}
	m := &Machine{c: c, l: l, adapterIDs: map[string]bool{}, permissions: map[string]bool{}}
	m.c.Configuration = nil
	seen := map[string]bool{}
	for _, s := range c.Configuration {
		if !identifier(s.ID, l.IdentifierBytes) || seen[s.ID] || s.Boolean == nil && !identifier(s.Value, l.IdentifierBytes) {
			return nil, errors.New("acpprofile: a configuration entry is no identifier or stands twice")
		}
		seen[s.ID] = true
		if s.Boolean != nil {
			value := *s.Boolean
			s.Boolean = &value
		}
		m.c.Configuration = append(m.c.Configuration, s)
	}
	return m, nil
}
