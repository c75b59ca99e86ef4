package coordinator

import "github.com/magi-jig/magi-jig/wirev2"

// create is session.create. The folder is looked at outside the core, then the
// session is made durable; the request is decided between the two.
func (k *core) create(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionCreateRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		k.await(a)
		k.do(checkWorkspace{a, q.Workspace, q.Title})
	}, nil
}

// workspaceChecked comes back from checkWorkspace.
func (k *core) workspaceChecked(e checkWorkspace, isFolder bool) {
	switch {
	case e.ask.decided:
	case !isFolder:
		k.refuse(e.ask, wirev2.CodeInvalidPayload, "workspace must be an existing folder")
	default:
		k.decide(e.ask)
		k.do(createSession{e.ask, k.newID(), e.path, e.title})
	}
}

// sessionCreated comes back from createSession.
func (k *core) sessionCreated(e createSession, err error) {
	if err != nil {
		k.refuse(e.ask, wirev2.CodeInternal, "the session could not be made durable; the log says why")
		return
	}
	k.answer(e.ask, wirev2.SessionCreateReply{SessionID: e.id}, nil)
}
