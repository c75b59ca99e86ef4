package appresources

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

type hashVector struct {
	Kind           Kind   `json:"kind"`
	Name           string `json:"name"`
	Description    string `json:"description"`
	Content        string `json:"content"`
	CapturedBytes  int    `json:"captured_bytes"`
	ContentSHA256  string `json:"content_sha256"`
	RevisionSHA256 string `json:"revision_sha256"`
}

func hashVectors(t *testing.T) []hashVector {
	t.Helper()
	raw, err := os.ReadFile("testdata/resource-hashes.json")
	require.NoError(t, err)
	var file struct {
		About string       `json:"about"`
		Cases []hashVector `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(raw, &file, json.RejectUnknownMembers(true)))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

// rule
func TestHashesAreThoseOfTheVectors(t *testing.T) {
	for _, v := range hashVectors(t) {
		require.Equal(t, v.ContentSHA256, ContentSHA256(v.Content), v.Name)
		require.Equal(t, v.RevisionSHA256, RevisionSHA256(v.Kind, v.Name, v.Description, v.Content), v.Name)
		require.Len(t, v.Content, v.CapturedBytes, v.Name)
	}
}

// rule: A-055
func TestRevisionHashSeparatesItsParts(t *testing.T) {
	require.NotEqual(t, RevisionSHA256(KindSkill, "ab", "c", "d"), RevisionSHA256(KindSkill, "a", "bc", "d"))
	require.NotEqual(t, RevisionSHA256(KindSkill, "a", "bc", "d"), RevisionSHA256(KindSkill, "a", "b", "cd"))
	require.NotEqual(t, RevisionSHA256(KindSkill, "a", "b", "c"), RevisionSHA256(KindTool, "a", "b", "c"))
}

// rule
func TestRegistrationShowsTheVectorsHashes(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	for _, v := range hashVectors(t) {
		r := Registration{Kind: v.Kind, Name: v.Name, Description: v.Description, By: by(1)}
		if v.Description == "Find one order by its number!" {
			r.ExpectedRevision = f.entry("s", v.Name).RevisionID
		}
		got, err := f.set.Register("s", r, v.Content, 0)
		require.NoError(t, err)
		require.Equal(t, v.ContentSHA256, got.Entry.ContentSHA256)
		require.Equal(t, v.RevisionSHA256, got.Entry.RevisionSHA256)
		require.Equal(t, v.CapturedBytes, got.Entry.CapturedBytes)
		require.Equal(t, got.Entry, f.entry("s", v.Name))
	}
}
