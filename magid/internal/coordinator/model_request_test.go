package coordinator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/magi-jig/magi-jig/wirev2"
)

type modelRegistration struct {
	expected *wirev2.ID
	file     bool
}

type modelProof struct {
	executor *modelExecutor
	secret   wirev2.Secret
}

// appRequest sends a random request of the profile, right or wrong in random
// ways, from a connection that negotiated it.
func (w *world) appRequest() {
	var selected []*modelPeer
	for _, p := range w.peers {
		if p.conn.selected {
			selected = append(selected, p)
		}
	}
	if len(selected) == 0 {
		w.join()
		return
	}
	r := &modelRequest{peer: selected[w.random.IntN(len(selected))], session: w.sessions[w.random.IntN(len(w.sessions))]}
	if h := r.session.holder; h != nil && h.conn.selected && w.random.IntN(5) > 0 {
		r.peer = h
	}
	w.n++
	r.id = fmt.Sprint("r", w.n)
	r.q = wirev2.Request{RequestID: r.id, Payload: []byte(`{}`)}
	switch pick := w.random.IntN(20); {
	case pick < 5:
		w.registryRequest(r)
	case pick < 11:
		w.executorRequest(r)
	case pick < 15:
		w.applicationRequest(r)
	case pick < 19:
		w.resultRequest(r)
	default:
		id := w.newID()
		if len(r.session.turns) > 0 {
			id = r.session.turns[w.random.IntN(len(r.session.turns))]
		}
		r.q.Method = wirev2.MethodTurnApplicationEvidence
		r.q.Payload = []byte(`{"turn_id":"` + string(id) + `"}`)
	}
	if r.q.Method == "" {
		return
	}
	info, _ := r.q.Method.Lookup()
	if info.Session == wirev2.Required && r.q.SessionID == "" {
		r.q.SessionID = r.session.id
	}
	if info.Operation == wirev2.Required {
		r.q.OperationID = w.newID()
		if w.random.IntN(20) == 0 {
			r.q.OperationID = w.usedID()
		}
	}
	if info.Control == wirev2.Required {
		r.q.ControlToken = r.peer.tokens[r.session]
	}
	w.requests[r.id] = r
	w.appPredict(r, info)
	w.trace("%s: %s of %s by %s, %s", r.id, r.q.Method, r.session.id[:8], r.peer.conn.id[:8], r.q.Payload)
	w.send(r)
}

// settleIn begins a history with an application that has claimed a session,
// registered a tool and confirmed an executor: chance alone seldom comes so far.
func (w *world) settleIn() {
	p := w.peers[0]
	if !p.conn.selected {
		return
	}
	s := w.sessions[0]
	say := func(method wirev2.Method, more any, payload string) {
		w.n++
		r := &modelRequest{id: fmt.Sprint("r", w.n), peer: p, session: s, more: more, ok: method != wirev2.MethodSessionClaim}
		r.q = wirev2.Request{RequestID: r.id, Method: method, Payload: []byte(payload)}
		info, _ := method.Lookup()
		if info.Session == wirev2.Required {
			r.q.SessionID = s.id
		}
		if info.Operation == wirev2.Required {
			r.q.OperationID = w.newID()
		}
		if info.Control == wirev2.Required {
			r.q.ControlToken = p.tokens[s]
		}
		w.requests[r.id] = r
		w.appPredict(r, info)
		w.send(r)
	}
	say(wirev2.MethodSessionClaim, nil, `{}`)
	for s.holder == nil && len(w.disk) > 0 {
		w.finishJob()
	}
	if s.holder == nil {
		return // the disk failed
	}
	raw, err := wirev2.EncodePayload(wirev2.SessionResourcesRegisterRequest{Resource: inline("tool0", wirev2.KindTool, fmt.Sprintf(contract, ""))})
	must(err == nil, "a registration that cannot be encoded")
	say(wirev2.MethodSessionResourcesRegister, &modelRegistration{}, string(raw))
	say(wirev2.MethodExecutorCreate, nil, `{}`)
	e := w.identities[0]
	say(wirev2.MethodExecutorConfirm, &modelProof{e, e.proof}, fmt.Sprintf(`{"executor_id":%q,"resume_secret":%q}`, e.id, e.proof.Reveal()))
}

// appPredict is predict for the profile's methods: what it has set already holds
// only where the common checks pass.
func (w *world) appPredict(r *modelRequest, info wirev2.MethodInfo) {
	expect, ok := r.expect, r.ok
	r.expect, r.ok = "", false
	if info.Operation == wirev2.Required && w.known(r.q.OperationID) != nil {
		r.expect = wirev2.CodeOperationAlreadyKnown
		return
	}
	if info.Control == wirev2.Required {
		switch {
		case r.q.ControlToken == "":
			r.expect = wirev2.CodeControlRequired
			return
		case r.session.holder != r.peer || r.q.ControlToken != r.session.token:
			r.expect = wirev2.CodeStaleConnection
			return
		}
	}
	if info.Operation == wirev2.Required {
		w.used[r.q.OperationID] = &modelOperation{session: r.q.SessionID, state: wirev2.OperationPending}
	}
	r.expect, r.ok = expect, ok
}

func (w *world) registryRequest(r *modelRequest) {
	entries := map[string]wirev2.Descriptor{}
	revision := w.newID()
	if r.session.registry != nil {
		entries = r.session.registry.entries
		if r.session.registry.revision != "" && w.random.IntN(8) > 0 {
			revision = r.session.registry.revision
		}
	}
	names := slices.Sorted(maps.Keys(entries))
	switch pick := w.random.IntN(12); {
	case pick < 3:
		r.q.Method = wirev2.MethodSessionResourcesList
		r.ok = true
	case pick < 9:
		r.q.Method = wirev2.MethodSessionResourcesRegister
		kind := []wirev2.ResourceKind{wirev2.KindTool, wirev2.KindTool, wirev2.KindSkill}[w.random.IntN(3)]
		name := map[wirev2.ResourceKind]string{wirev2.KindTool: "tool", wirev2.KindSkill: "skill"}[kind] + fmt.Sprint(w.random.IntN(2))
		more := &modelRegistration{file: kind == wirev2.KindSkill && w.random.IntN(2) == 0}
		old, known := entries[name]
		if known != (w.random.IntN(8) == 0) { // mostly what it should be
			more.expected = &old.RevisionID
			if !known || w.random.IntN(8) == 0 {
				more.expected = new(w.newID())
			}
		}
		resource := inline(name, kind, "text")
		switch {
		case kind == wirev2.KindTool:
			resource = inline(name, kind, fmt.Sprintf(contract, ""))
		case more.file:
			resource = file(name, "skill.md")
		}
		switch stale := (more.expected != nil) != known || known && *more.expected != old.RevisionID; {
		case stale:
			r.expect = wirev2.CodeConflict
		case w.core.capturing != nil:
			r.expect = wirev2.CodeConfigurationBusy
		default:
			r.ok = !more.file
		}
		if more.file && r.session.id != "" && w.core.sessions[r.session.id] != nil && w.core.sessions[r.session.id].lease != leaseOpen {
			r.expect = "" // it waits for its workspace
		}
		r.more = more
		raw, err := wirev2.EncodePayload(wirev2.SessionResourcesRegisterRequest{ExpectedRevision: more.expected, Resource: resource})
		must(err == nil, "a registration that cannot be encoded")
		r.q.Payload = raw
	case pick < 11:
		r.q.Method = wirev2.MethodSessionResourcesUnregister
		if len(names) == 0 {
			r.q.Method = ""
			return
		}
		d := entries[names[w.random.IntN(len(names))]]
		r.ok = true
		r.q.Payload = fmt.Appendf(nil, `{"resource_id":%q,"expected_revision":%q}`, d.ResourceID, d.RevisionID)
	default:
		r.q.Method = wirev2.MethodSessionResourcesClear
		r.ok = r.session.registry != nil && revision == r.session.registry.revision
		if !r.ok {
			r.expect = wirev2.CodeConflict
		}
		r.q.Payload = fmt.Appendf(nil, `{"expected_registry_revision":%q}`, revision)
	}
}

func (w *world) executorRequest(r *modelRequest) {
	if len(w.identities) == 0 || w.random.IntN(6) == 0 {
		r.q.Method = wirev2.MethodExecutorCreate
		return
	}
	e := w.identities[len(w.identities)-1-w.random.IntN(min(2, len(w.identities)))]
	if w.random.IntN(3) > 0 { // more often than chance: who may
		for _, p := range []*modelPeer{e.issuer, e.holder} {
			if p != nil && !p.conn.gone {
				r.peer = p
			}
		}
	}
	generation := e.generation
	if w.random.IntN(10) == 0 {
		generation--
	}
	proof := &modelProof{executor: e, secret: e.proof}
	switch w.random.IntN(10) {
	case 0:
		proof.secret = "wrong"
	case 1, 2, 3:
		if e.candidate != "" {
			proof.secret = e.candidate
		}
	}
	r.more = proof
	switch pick := w.random.IntN(20); {
	case e.issuer != nil && pick < 12:
		r.q.Method = wirev2.MethodExecutorConfirm
	case pick < 11:
		r.q.Method = wirev2.MethodExecutorResume
		if e.released || proof.secret == "wrong" {
			r.expect = wirev2.CodeExecutorRejected
		}
	case pick < 15:
		r.q.Method = wirev2.MethodExecutorRotate
		r.q.Payload = fmt.Appendf(nil, `{"executor_id":%q,"executor_generation":%d}`, e.id, generation)
		return
	case pick < 19:
		r.q.Method = wirev2.MethodExecutorRotateConfirm
		r.q.Payload = fmt.Appendf(nil, `{"executor_id":%q,"executor_generation":%d,"resume_secret":%q}`, e.id, generation, proof.secret.Reveal())
		return
	default:
		r.q.Method = wirev2.MethodExecutorRelease
		r.more = e
		r.q.Payload = fmt.Appendf(nil, `{"executor_id":%q,"executor_generation":%d}`, e.id, generation)
		return
	}
	r.q.Payload = fmt.Appendf(nil, `{"executor_id":%q,"resume_secret":%q}`, e.id, proof.secret.Reveal())
}

// applicationRequest is a turn.start with what the client believes there is.
func (w *world) applicationRequest(r *modelRequest) {
	s := r.session
	r.q.Method = wirev2.MethodTurnStart
	if s.registry == nil || s.registry.revision == "" {
		r.q.Payload = []byte(`{"prompt":"x"}`)
		if s.turn != nil {
			r.expect = wirev2.CodeTurnActive
		}
		return
	}
	app := &modelApplication{revision: s.registry.revision}
	q := wirev2.Application{ExpectedRegistryRevision: app.revision, ToolAuthorizations: []wirev2.Authorization{}}
	for _, name := range slices.Sorted(maps.Keys(s.registry.entries)) {
		if d := s.registry.entries[name]; d.Kind == wirev2.KindTool {
			app.tools = append(app.tools, d)
			q.ToolAuthorizations = append(q.ToolAuthorizations, wirev2.Authorization{
				ResourceID: d.ResourceID, RevisionID: d.RevisionID, RevisionSHA256: d.RevisionSHA256,
			})
		}
	}
	if len(app.tools) > 0 {
		for _, e := range w.identities {
			if e.holder == r.peer || app.executor == nil {
				app.executor = e
			}
		}
		if app.executor == nil {
			app.executor = &modelExecutor{id: w.newID(), generation: 1}
		}
		q.ExecutorID, q.ExecutorGeneration = &app.executor.id, new(app.executor.generation)
		if w.random.IntN(20) == 0 {
			q.ToolAuthorizations = q.ToolAuthorizations[1:]
		}
		if w.random.IntN(20) == 0 {
			q.ExpectedRegistryRevision = w.newID()
		}
	}
	switch {
	case s.turn != nil:
		r.expect = wirev2.CodeTurnActive
	}
	r.app = app
	raw, err := wirev2.EncodePayload(wirev2.TurnStartRequest{Prompt: "x", Application: &q})
	must(err == nil, "a turn.start that cannot be encoded")
	r.q.Payload = raw
}

// resultRequest submits a result, right or wrong, early or late; what must be
// answered is known exactly.
func (w *world) resultRequest(r *modelRequest) {
	if len(w.needed) == 0 {
		return
	}
	c := w.needed[len(w.needed)-1-w.random.IntN(min(4, len(w.needed)))]
	e := c.executor
	if e.holder != nil && w.random.IntN(6) > 0 {
		r.peer = e.holder
	}
	generation := e.generation
	if w.random.IntN(8) == 0 {
		generation--
	}
	session := c.session
	if w.random.IntN(12) == 0 {
		session = w.sessions[w.random.IntN(len(w.sessions))]
	}
	tuple := c.tool
	if w.random.IntN(12) == 0 {
		tuple.RevisionID = w.newID()
	}
	value := `{"said":"x"}`
	if w.random.IntN(12) == 0 {
		value = `{"said":7}`
	}
	r.q.Method, r.q.SessionID, r.session, r.more = wirev2.MethodTurnApplicationToolResult, session.id, session, c
	r.q.Payload = fmt.Appendf(nil, `{"turn_id":%q,"call_id":%q,"executor_id":%q,"executor_generation":%d,"resource_id":%q,"revision_id":%q,`+
		`"revision_sha256":%q,"outcome":{"status":"success","value":%s}}`,
		c.turn.real.id, c.id, e.id, generation, tuple.ResourceID, tuple.RevisionID, tuple.RevisionSHA256, value)
	switch {
	case e.holder != r.peer || generation != e.generation:
		r.expect = wirev2.CodeStaleConnection
	case c.sent == 0 || c.result != nil || session != c.session:
		r.expect = wirev2.CodeUnknownTurn
	case tuple != c.tool || value != `{"said":"x"}`:
		r.expect = wirev2.CodeInvalidPayload
	default:
		r.ok = true
	}
}
