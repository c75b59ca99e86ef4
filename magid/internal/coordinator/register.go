package coordinator

import (
	"errors"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/appresources/capture"
	"github.com/magi-jig/magi-jig/wirev2"
)

// resourcesRegister is session.resources.register. Content given inline is
// registered in this step. A workspace file is read outside the core, by the
// daemon's one capture worker, and everything is checked again when it comes
// back; until then the request is not decided, and its deadline, a takeover or
// the end of its connection discards what the worker will bring (seed: Captured
// sources).
func (k *core) resourcesRegister(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionResourcesRegisterRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	r := appresources.Registration{
		Kind:        appresources.Kind(q.Resource.Kind),
		Name:        q.Resource.Name,
		Description: q.Resource.Description,
		Reserved:    k.reserved,
		By:          k.attribution(a),
	}
	if q.ExpectedRevision != nil {
		r.ExpectedRevision = appresources.ID(*q.ExpectedRevision)
	}
	if err := r.CheckForm(); err != nil {
		return nil, resourceRefusal(err)
	}
	if q.Resource.Source.Kind == wirev2.SourceInline {
		content := *q.Resource.Source.Content
		return func() {
			done, err := k.resources.Register(registryOf(a), r, content, k.now)
			k.registered(a, done, err)
		}, nil
	}
	path := *q.Resource.Source.Path
	if err := capture.CheckPath(path); err != nil {
		return nil, captureRefusal(err)
	}
	return func() {
		if !k.needLease(a) { // the workspace is in the journal
			return
		}
		staging, err := k.resources.Reserve(registryOf(a), r, k.now)
		if err != nil {
			k.fail(a, resourceRefusal(err))
			return
		}
		k.await(a)
		k.capturing = a
		k.do(captureSource{a, staging, a.session.workspace, path})
	}, nil
}

// captured comes back from captureSource.
func (k *core) captured(e captureSource, content []byte, err error) {
	k.capturing = nil
	switch {
	case e.ask.decided: // by its deadline, or because its control is lost
		k.resources.Discard(e.staging)
	case err != nil:
		k.resources.Discard(e.staging)
		k.fail(e.ask, captureRefusal(err))
	default:
		done, err := k.resources.Publish(e.staging, string(content), k.now)
		k.registered(e.ask, done, err)
	}
}

func (k *core) registered(a *ask, done appresources.Registered, err error) {
	if err != nil {
		k.fail(a, resourceRefusal(err))
		return
	}
	k.answer(a, wirev2.SessionResourcesRegisterReply{
		Entry:            descriptor(done.Entry),
		RegistryRevision: wirev2.ID(done.RegistryRevision),
	}, nil)
}

// captureRefusal is a capture's refusal as a wire error: it names the rule and
// never the path (magid: Shapes).
func captureRefusal(err error) *wirev2.Error {
	var broken *capture.Error
	if !errors.As(err, &broken) {
		return &wirev2.Error{Code: wirev2.CodeInternal, Message: "the source could not be captured; the log says why"}
	}
	code := wirev2.CodeInvalidPayload
	switch broken.Rule {
	case capture.RuleSize:
		code = wirev2.CodeLimitExceeded
	case capture.RuleUnavailable:
		code = wirev2.CodeInternal
	}
	return &wirev2.Error{Code: code, Message: "source: " + string(broken.Rule)}
}
