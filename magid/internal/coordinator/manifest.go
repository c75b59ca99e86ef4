package coordinator

import (
	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

// The registry's own types as the wire shows them, member by member.

func descriptor(d appresources.Descriptor) wirev2.Descriptor {
	return wirev2.Descriptor{
		ResourceID:     wirev2.ID(d.ResourceID),
		RevisionID:     wirev2.ID(d.RevisionID),
		Kind:           wirev2.ResourceKind(d.Kind),
		Name:           d.Name,
		Description:    d.Description,
		ContentSHA256:  d.ContentSHA256,
		RevisionSHA256: d.RevisionSHA256,
		CapturedBytes:  int64(d.CapturedBytes),
		RegisteredBy:   attributed(d.RegisteredBy),
	}
}

func descriptors(all []appresources.Descriptor) []wirev2.Descriptor {
	out := make([]wirev2.Descriptor, len(all))
	for i, d := range all {
		out[i] = descriptor(d)
	}
	return out
}

func attributed(a appresources.Attribution) wirev2.Attribution {
	return wirev2.Attribution{
		InstanceID:      wirev2.ID(a.InstanceID),
		ConnectionID:    wirev2.ID(a.ConnectionID),
		OperationID:     wirev2.ID(a.OperationID),
		GrantGeneration: a.GrantGeneration,
	}
}

func manifest(m *appresources.Manifest) *wirev2.Manifest {
	out := &wirev2.Manifest{
		Profile:            wirev2.CapabilityApplicationResources,
		RegistryRevision:   wirev2.ID(m.RegistryRevision()),
		Resources:          descriptors(m.Resources()),
		Tools:              []wirev2.ToolManifest{},
		AcceptedController: attributed(m.AcceptedController()),
	}
	for _, t := range m.Tools() {
		out.Tools = append(out.Tools, wirev2.ToolManifest{
			ResourceID:     wirev2.ID(t.ResourceID),
			RevisionID:     wirev2.ID(t.RevisionID),
			RevisionSHA256: t.RevisionSHA256,
			Name:           t.Name,
			TimeoutMS:      t.TimeoutMS,
		})
	}
	if executor, ok := m.AcceptedExecutor(); ok {
		out.AcceptedExecutor = &wirev2.ExecutorTarget{
			ExecutorID:         wirev2.ID(executor.ExecutorID),
			ExecutorGeneration: executor.ExecutorGeneration,
		}
	}
	return out
}
