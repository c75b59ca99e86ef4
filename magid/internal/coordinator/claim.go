package coordinator

import (
	"github.com/magi-jig/magi-jig/wirev2"
)

// claim is session.claim (wire-v2 4: Claims).
func (k *core) claim(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionClaimRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		s := a.session
		switch {
		case a.conn.gone:
			k.refuse(a, wirev2.CodeStaleConnection, "the connection ended before the session was claimed")
			return
		case s.holder != nil && s.holder != a.conn && !q.Takeover:
			k.refuse(a, wirev2.CodeSessionClaimed, "another connection controls this session; claim it with takeover to take it")
			return
		case !k.needLease(a):
			return
		}
		k.decide(a)
		token := k.grant(a)
		reply := wirev2.SessionClaimReply{
			ControlToken:    token,
			GrantGeneration: a.grant.generation,
			Snapshot:        s.snapshot(a.conn.selected),
		}
		k.answer(a, reply, claimed(reply))
	}, nil
}

// claimed is what a lookup shows of a claim: everything but the token.
func claimed(reply wirev2.SessionClaimReply) outcome {
	type result struct {
		GrantGeneration int64           `json:"grant_generation"`
		Snapshot        wirev2.Snapshot `json:"snapshot"`
	}
	full := result{reply.GrantGeneration, reply.Snapshot}
	return func(selected bool) any {
		if selected {
			return full
		}
		return result{full.GrantGeneration, ordinary(full.Snapshot)}
	}
}

// grant gives control of the session to the request's connection and takes it
// from whoever has it.
func (k *core) grant(a *ask) wirev2.Secret {
	s := a.session
	if s.holder != nil && s.holder != a.conn {
		k.emit(s, wirev2.EventSessionControlLost, "", wirev2.SessionControlLostEvent{Reason: wirev2.ControlLostTakeover})
	}
	if s.holder != nil {
		k.ungrant(s, "control of the session was claimed anew")
	}
	token := k.newToken()
	s.generation++
	k.resources.Claim(registryOf(a), k.now) // a takeover leaves the registry claimed all along
	s.grant = &Grant{session: s.id, generation: s.generation}
	s.holder = a.conn
	s.token = newDigest(token)
	a.conn.controls[s] = struct{}{}
	a.grant = s.grant
	return token
}

// ungrant ends the grant of a session: what depends on it and is not decided yet
// is refused.
func (k *core) ungrant(s *session, why string) {
	ended := s.grant
	delete(s.holder.controls, s)
	s.holder, s.grant, s.token = nil, nil, digest{}
	k.change(s)
	if t := s.turn; t != nil && t.phase == preparing {
		k.dropTurn(t, &wirev2.Error{Code: wirev2.CodeStaleConnection, Message: why + " while the turn was being prepared"})
	}
	if a := k.capturing; a != nil && a.grant == ended {
		k.refuse(a, wirev2.CodeStaleConnection, why+" while the source was being captured")
	}
	for i := 0; i < len(s.waiting); {
		if a := s.waiting[i]; a.grant == ended {
			k.refuse(a, wirev2.CodeStaleConnection, why)
			continue // the refusal took it out of waiting
		}
		i++
	}
}

// release is session.release. Its reply means that another daemon can have the
// session, unless a turn still runs.
func (k *core) release(a *ask) (func(), *wirev2.Error) {
	var q wirev2.SessionReleaseRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		s := a.session
		k.decide(a)
		k.ungrant(s, "control of the session was released")
		k.resources.Unclaim(registryOf(a), k.now)
		s.then = append(s.then, func() { k.answer(a, wirev2.SessionReleaseReply{}, nil) })
	}, nil
}
