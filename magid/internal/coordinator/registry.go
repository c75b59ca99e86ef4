package coordinator

import (
	"errors"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

// resourcesList is session.resources.list.
func (k *core) resourcesList(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionResourcesListRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		listing, err := k.resources.List(registryOf(a), k.now)
		if err != nil {
			k.fail(a, resourceRefusal(err))
			return
		}
		k.answer(a, wirev2.SessionResourcesListReply{
			RegistryRevision: wirev2.ID(listing.RegistryRevision),
			Entries:          descriptors(listing.Entries),
		}, nil)
	}, nil
}

// resourcesUnregister is session.resources.unregister.
func (k *core) resourcesUnregister(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionResourcesUnregisterRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		done, err := k.resources.Unregister(registryOf(a), appresources.ID(q.ResourceID), appresources.ID(q.ExpectedRevision), k.now)
		if err != nil {
			k.fail(a, resourceRefusal(err))
			return
		}
		k.answer(a, wirev2.SessionResourcesUnregisterReply{
			ResourceID:       wirev2.ID(done.ResourceID),
			RemovedRevision:  wirev2.ID(done.RemovedRevision),
			RegistryRevision: wirev2.ID(done.RegistryRevision),
		}, nil)
	}, nil
}

// resourcesClear is session.resources.clear.
func (k *core) resourcesClear(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionResourcesClearRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		done, err := k.resources.Clear(registryOf(a), appresources.ID(q.ExpectedRegistryRevision), k.now)
		if err != nil {
			k.fail(a, resourceRefusal(err))
			return
		}
		k.answer(a, wirev2.SessionResourcesClearReply{
			RegistryRevision: wirev2.ID(done.RegistryRevision),
			RemovedCount:     int64(done.RemovedCount),
		}, nil)
	}, nil
}

func registryOf(a *ask) appresources.ID { return appresources.ID(a.session.id) }

// attribution names the connection action that a request is.
func (k *core) attribution(a *ask) appresources.Attribution {
	return appresources.Attribution{
		InstanceID:      appresources.ID(k.instance),
		ConnectionID:    appresources.ID(a.conn.id),
		OperationID:     appresources.ID(a.request.OperationID),
		GrantGeneration: a.grant.generation,
	}
}

// resourceRefusal is a refusal of the registry as a wire error: its codes are
// the wire's, and its text is for a person.
func resourceRefusal(err error) *wirev2.Error {
	if code := appresources.CodeOf(err); code != "" {
		return &wirev2.Error{Code: wirev2.Code(code), Message: err.Error()}
	}
	if errors.Is(err, appresources.ErrUnclaimed) {
		return stale()
	}
	return &wirev2.Error{Code: wirev2.CodeInternal, Message: "the registry refused without a reason"}
}
