package appresources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// rule, M-077, M-078, M-079
func TestManifestHasExactlyTheAgreedBytes(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	_, err := f.set.Register("s", Registration{Kind: KindTool, Name: "look", Description: "Look\n\u2028up", By: by(2)},
		source(one(`{"type":"boolean"}`), `,"timeout_ms":5000`), 0)
	require.NoError(t, err)
	f.skill("s", "style", "", "secret body")
	p := f.take("s", 0).Snapshot()
	tool, skill := f.entry("s", "look"), f.entry("s", "style")
	m, err := p.Manifest(by(9), &Executor{ExecutorID: "e", ExecutorGeneration: 3})
	require.NoError(t, err)
	attribution := func(a Attribution) string {
		return fmt.Sprintf(`{"instance_id":"%s","connection_id":"%s","operation_id":"%s","grant_generation":%d}`,
			a.InstanceID, a.ConnectionID, a.OperationID, a.GrantGeneration)
	}
	descriptor := func(d Descriptor, description string) string {
		return fmt.Sprintf(`{"resource_id":"%s","revision_id":"%s","kind":"%s","name":"%s","description":"%s","content_sha256":"%s",`+
			`"revision_sha256":"%s","captured_bytes":%d,"registered_by":%s}`, d.ResourceID, d.RevisionID, d.Kind, d.Name, description,
			d.ContentSHA256, d.RevisionSHA256, d.CapturedBytes, attribution(d.RegisteredBy))
	}
	want := `{"profile":"application_resources_v1","registry_revision":"` + string(p.RegistryRevision()) + `","resources":[` +
		descriptor(skill, "") + "," + descriptor(tool, `Look\n\u2028up`) + `],"tools":[` +
		fmt.Sprintf(`{"resource_id":"%s","revision_id":"%s","revision_sha256":"%s","name":"look","timeout_ms":5000}`,
			tool.ResourceID, tool.RevisionID, tool.RevisionSHA256) +
		`],"accepted_controller":` + attribution(by(9)) + `,"accepted_executor":{"executor_id":"e","executor_generation":3}}`
	require.Equal(t, want, string(m.Encoded()))
	require.Equal(t, len(`{"application_manifest":`+want+`}`), m.FieldBytes())
	require.NotContains(t, want, "secret body")

	require.Equal(t, p.RegistryRevision(), m.RegistryRevision())
	require.Equal(t, []Descriptor{skill, tool}, m.Resources())
	require.Equal(t, []ToolManifest{{tool.ResourceID, tool.RevisionID, tool.RevisionSHA256, "look", 5000}}, m.Tools())
	require.Equal(t, by(9), m.AcceptedController())
	executor, ok := m.AcceptedExecutor()
	require.True(t, ok)
	require.Equal(t, Executor{"e", 3}, executor)
}

// rule
func TestEmptyManifest(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	p := f.take("s", 0).Snapshot()
	m, err := p.Manifest(Attribution{InstanceID: "i", ConnectionID: "c", OperationID: "o", GrantGeneration: 1}, nil)
	require.NoError(t, err)
	require.Equal(t, `{"profile":"application_resources_v1","registry_revision":"`+string(p.RegistryRevision())+
		`","resources":[],"tools":[],"accepted_controller":{"instance_id":"i","connection_id":"c","operation_id":"o",`+
		`"grant_generation":1},"accepted_executor":null}`, string(m.Encoded()))
	require.Empty(t, m.Resources())
	require.Empty(t, m.Tools())
	_, ok := m.AcceptedExecutor()
	require.False(t, ok)
}

// rule: A-086
func TestManifestNeverChanges(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.tool("s", "a", "")
	executor := &Executor{"e", 1}
	m, err := f.take("s", 0).Snapshot().Manifest(by(1), executor)
	require.NoError(t, err)
	before := string(m.Encoded())
	executor.ExecutorGeneration = 2
	m.Encoded()[0] = 'x'
	m.Resources()[0].Name = "x"
	m.Tools()[0].Name = "x"
	f.tool("s", "a", f.entry("s", "a").RevisionID)
	require.Equal(t, before, string(m.Encoded()))
	kept, _ := m.AcceptedExecutor()
	require.Equal(t, Executor{"e", 1}, kept)
	require.Equal(t, "a", m.Resources()[0].Name)
	require.Equal(t, "a", m.Tools()[0].Name)
}

// rule: A-090
func TestManifestFieldHasAtMost18000Bytes(t *testing.T) {
	for _, c := range []struct {
		bytes int
		ok    bool
	}{{17999, true}, {18000, true}, {18001, false}} {
		f := newFixture(t, Limits{})
		f.set.Claim("s", 0)
		for i := range 16 {
			f.skill("s", fmt.Sprintf("s%02d", i), "", "x")
		}
		for i := range 5 {
			f.tool("s", fmt.Sprintf("t%d", i), "")
		}
		executor := &Executor{"d0000000-0000-4000-8000-000000000000", 1}
		h := f.take("s", 0)
		m, err := h.Snapshot().Manifest(by(1), executor)
		require.NoError(t, err)
		f.release(h, 0)
		missing := c.bytes - m.FieldBytes()
		require.Positive(t, missing)
		for i := 0; missing > 0; i++ {
			take := min(missing, MaxDescriptionBytes)
			missing -= take
			name := fmt.Sprintf("s%02d", i)
			_, err := f.set.Register("s", Registration{
				Kind: KindSkill, Name: name, Description: strings.Repeat("d", take), ExpectedRevision: f.entry("s", name).RevisionID, By: by(1),
			}, "x", 0)
			require.NoError(t, err)
		}
		m, err = f.take("s", 0).Snapshot().Manifest(by(1), executor)
		if !c.ok {
			requireBudget(t, BudgetManifest, err)
			require.Nil(t, m)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.bytes, m.FieldBytes())
	}
}

// rule: M-081
func TestManifestOf16SmallestToolsAnd16SkillsIsTooLarge(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	for i := range 16 {
		f.skill("s", string(rune('a'+i)), "", "")
		f.tool("s", "t"+string(rune('a'+i)), "")
	}
	_, err := f.take("s", 0).Snapshot().Manifest(by(1), &Executor{"d0000000-0000-4000-8000-000000000000", 1})
	requireBudget(t, BudgetManifest, err)
	require.Contains(t, err.Error(), "18000")
}

// The encoded manifest is JSON that says what the accessors say.
func TestManifestIsJSON(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.tool("s", "a", "")
	m, err := f.take("s", 0).Snapshot().Manifest(by(1), &Executor{"e", 1})
	require.NoError(t, err)
	var decoded struct {
		Profile          string `json:"profile"`
		RegistryRevision string `json:"registry_revision"`
		Resources        []any  `json:"resources"`
		Tools            []any  `json:"tools"`
		Controller       any    `json:"accepted_controller"`
		Executor         any    `json:"accepted_executor"`
	}
	require.NoError(t, json.Unmarshal(m.Encoded(), &decoded, json.RejectUnknownMembers(true)))
	require.Equal(t, Profile, decoded.Profile)
	require.Len(t, decoded.Resources, 1)
	require.Len(t, decoded.Tools, 1)
}
