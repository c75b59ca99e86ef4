package appresources

import (
	"fmt"
	"time"
)

// The bounds of names, contracts and values (seed: Callback bounds). They are
// the grammar of a contract and not adjustable.
const (
	MaxNameBytes        = 48    // a resource's or property's name
	MaxDescriptionBytes = 512   // a resource's description
	MaxSchemaProperties = 32    // properties of one schema
	MaxStringLength     = 4096  // largest maxLength, in Unicode scalars
	MaxValueBytes       = 16384 // arguments or result, as received and as encoded
	MaxErrorBytes       = 512   // an executor's error message

	MinTimeout     = 1000 * time.Millisecond
	MaxTimeout     = 600000 * time.Millisecond
	DefaultTimeout = 120000 * time.Millisecond

	// MaxSafeInteger is 2^53-1, the largest bound of an integer property.
	MaxSafeInteger = 1<<53 - 1
)

// Limits are the budgets of a [Set]. A zero field means its default; a
// negative one is an error. The value is copied.
type Limits struct {
	MaxTools            int           // tools in one registry; default 16
	MaxSkills           int           // skills in one registry; default 16
	MaxRegistryBytes    int           // charge of one registry's resources, bytes; default 32768
	MaxSkillTextBytes   int           // combined instructions with separators, bytes; default 16384
	MaxToolSourceBytes  int           // one tool's source, bytes; default 32768
	MaxSkillSourceBytes int           // one skill's source, bytes; default 16384
	MaxSnapshots        int           // snapshots alive in the set; default 256
	MaxRetainedEntries  int           // resources of all snapshots alive; default 1024
	MaxRetainedBytes    int           // charge of all snapshots alive and of a capture, bytes; default 8388608
	MaxRegistrySessions int           // sessions with a registry, empty ones too; default 256
	CaptureBytes        int           // reserved while a source is captured, bytes; default 131072
	MaxManifestBytes    int           // encoded {"application_manifest":…}, bytes; default 18000
	IdleTimeout         time.Duration // unclaimed, unheld registry; default 900 s
}

// DefaultLimits returns the documented defaults, the numbers that the
// capability response of the profile advertises.
func DefaultLimits() Limits {
	return Limits{
		MaxTools:            16,
		MaxSkills:           16,
		MaxRegistryBytes:    32 << 10,
		MaxSkillTextBytes:   16 << 10,
		MaxToolSourceBytes:  32 << 10,
		MaxSkillSourceBytes: 16 << 10,
		MaxSnapshots:        256,
		MaxRetainedEntries:  1024,
		MaxRetainedBytes:    8 << 20,
		MaxRegistrySessions: 256,
		CaptureBytes:        128 << 10,
		MaxManifestBytes:    18000,
		IdleTimeout:         900 * time.Second,
	}
}

func (l Limits) withDefaults() (Limits, error) {
	d := DefaultLimits()
	for _, f := range []struct {
		name string
		have *int
		def  int
	}{
		{"MaxTools", &l.MaxTools, d.MaxTools},
		{"MaxSkills", &l.MaxSkills, d.MaxSkills},
		{"MaxRegistryBytes", &l.MaxRegistryBytes, d.MaxRegistryBytes},
		{"MaxSkillTextBytes", &l.MaxSkillTextBytes, d.MaxSkillTextBytes},
		{"MaxToolSourceBytes", &l.MaxToolSourceBytes, d.MaxToolSourceBytes},
		{"MaxSkillSourceBytes", &l.MaxSkillSourceBytes, d.MaxSkillSourceBytes},
		{"MaxSnapshots", &l.MaxSnapshots, d.MaxSnapshots},
		{"MaxRetainedEntries", &l.MaxRetainedEntries, d.MaxRetainedEntries},
		{"MaxRetainedBytes", &l.MaxRetainedBytes, d.MaxRetainedBytes},
		{"MaxRegistrySessions", &l.MaxRegistrySessions, d.MaxRegistrySessions},
		{"CaptureBytes", &l.CaptureBytes, d.CaptureBytes},
		{"MaxManifestBytes", &l.MaxManifestBytes, d.MaxManifestBytes},
	} {
		switch {
		case *f.have < 0:
			return Limits{}, fmt.Errorf("appresources: limit %s is negative", f.name)
		case *f.have == 0:
			*f.have = f.def
		}
	}
	switch {
	case l.IdleTimeout < 0:
		return Limits{}, fmt.Errorf("appresources: limit IdleTimeout is negative")
	case l.IdleTimeout == 0:
		l.IdleTimeout = d.IdleTimeout
	}
	return l, nil
}

func (l Limits) sourceBytes(k Kind) (int, Budget) {
	if k == KindTool {
		return l.MaxToolSourceBytes, BudgetToolSource
	}
	return l.MaxSkillSourceBytes, BudgetSkillSource
}
