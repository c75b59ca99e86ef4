package contract

// ResourceID is the id of a contract that the host itself provides.
type ResourceID string

// The resources.
const (
	FiniteACP   ResourceID = "https://jig.md/contracts/finite-acp"
	HTTPRequest ResourceID = "https://jig.md/contracts/http-request"
)

// resources are the revisions of the resource contracts that this host
// implements. They are recognised by digest: the text of a descriptor is part of
// its identity, so the packages that carry these exact files work unchanged, and
// another text under the same id and version is another revision.
var resources = []Identity{
	{string(FiniteACP), "0.1.0", "sha256:808fc2e06261843a86ca6d346e0e3385582b859868f796a6427cc319d57dfbb1"},
	{string(HTTPRequest), "0.1.0", "sha256:184ac7ea457618337e5696d101e218fdfccfa99792c56790b00750bfe80f40f0"},
}

// Digests of channel descriptors of the public bundles, in their 0.1.0 revision.
const (
	FiniteACPRequests  = "sha256:161f08489ee386732996fa543c4753dba83063ca03d9dfed557c737dbb956bc0"
	FiniteACPResponses = "sha256:a789ad3869499409752574e0f6991e3e000944aa5610190912960f0a0c1b2edb"
	AgentCommands      = "sha256:0e5ed7e128a6b3094daf10a06f42aa4664778aa1b88b38c42ea29837442dd430"
	AgentReplies       = "sha256:8f523c76e684b9c0d056683dc9d68e3db0589849ea43fc685230686f9d281827"
)

// Resource says whether i is the contract of a resource. known is true for an id
// that belongs to a resource; err is nil for a revision this host implements and
// [ErrUnsupported] for another one, which is never taken for equal.
func Resource(i Identity) (id ResourceID, known bool, err error) {
	for _, r := range implemented() {
		if r.ID != i.ID {
			continue
		}
		id, known = ResourceID(r.ID), true
		if r == i {
			return id, true, nil
		}
	}
	if known {
		err = &Error{Reason: "this revision of " + i.ID + " is not one that this host implements", cause: ErrUnsupported}
	}
	return id, known, err
}
