package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs is a project whose Binding may send one request to url.
func docs(url string) map[string]string {
	return map[string]string{
		"flows/fetch/FLOW.ts":        flow(`return await run.call({ operationId: "page", slot: "page", input: {} })`),
		"flows/fetch/FLOW.meta.json": `{"uses":{"page":{}}}`,
		"flows/hello/FLOW.ts":        hello,
		"bindings/docs.ts": `import { defineBinding } from "@jigging/jig"
export default defineBinding({ package: "./flows/fetch", slots: { page: { kind: "http", url: "` + url + `", method: "GET", bearerEnv: "DOCS_TOKEN" } } })
`,
	}
}

func TestAFlowSendsTheRequestThatWasGrantedAndNoOther(t *testing.T) {
	var seen atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization"))
		io.WriteString(w, "the page")
	}))
	defer server.Close()
	p := newPlace(t, docs(server.URL+"/page"))

	// Review and run both want the bearer, and neither shows it.
	o := p.jig("review", "--yes", "--allow-authority-changes")
	require.Equal(t, 1, o.exit, o)
	require.Contains(t, o.stdout, `"code":"PROJECT_HTTP_UNAVAILABLE"`)
	require.Contains(t, o.stdout, `"path":"flows/fetch/FLOW.ts"`)
	plain := p.env
	p.env = append(plain[:len(plain):len(plain)], "DOCS_TOKEN=s3cret")
	o = p.approve()
	require.Contains(t, o.stderr, "! + grant       binding:docs#page")
	require.NotContains(t, o.String(), "s3cret")
	p.jig("run", "binding:docs").is(0, "output", `{"body":"the page","status":200}`)
	require.Equal(t, "GET /page Bearer s3cret", seen.Load())

	p.env = plain
	p.jig("run", "binding:docs").is(1, "code", `"PROJECT_HTTP_UNAVAILABLE"`)
	p.jig("run", "flow:flows/hello").is(0)
	state, err := os.ReadFile(filepath.Join(p.dir, ".jig/state.db"))
	require.NoError(t, err)
	require.NotContains(t, string(state), "s3cret")
}

// complaint: B3.40 anthropics/claude-code#24916 - a private certificate authority is ignored, and nothing says that it is about trust
func TestComplaintB3_40ClaudeCode24916APrivateAuthorityIsHonoured(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "trusted") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one handshake is meant to fail
	server.StartTLS()
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(bundle, text, 0o644))
	p := newPlace(t, docs(server.URL))
	p.env = append(p.env, "DOCS_TOKEN=x")
	p.approve()
	o := p.jig("run", "binding:docs").is(1)
	require.Contains(t, o.stdout, "certificate")

	p.env = append(p.env, "SSL_CERT_FILE="+bundle)
	p.jig("run", "binding:docs").is(2, "code", `"REVIEW_REQUIRED"`)
	require.Contains(t, p.approve().stdout, `"kind":"environment","op":"change","subject":"ca"`)
	p.jig("run", "binding:docs").is(0, "output", `{"body":"trusted","status":200}`)

	require.NoError(t, os.WriteFile(bundle, append(text, text...), 0o644))
	p.jig("run", "binding:docs").is(2, "code", `"REVIEW_REQUIRED"`, "details", `{"changed":["ca"],"flowStarted":false,"reason":"EXECUTION_ENVIRONMENT_CHANGED"}`)
}

// complaint: B6.54 rocky-data/rocky#1095 - settings that are read later than the plan change what was approved
// rule: J-036
func TestComplaintB6_54Rocky1095WhatInfluencesARunWasReviewed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	p := newPlace(t, docs(server.URL))
	p.env = append(p.env, "DOCS_TOKEN=x")
	p.approve()
	other := filepath.Join(t.TempDir(), "bwrap")
	b, err := os.ReadFile("/usr/bin/bwrap")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, b, 0o755))
	ca := filepath.Join(t.TempDir(), "ca.pem")
	tls := httptest.NewTLSServer(nil)
	tls.Close()
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw}), 0o644))

	with := func(env ...string) *place {
		return &place{t: t, dir: p.dir, env: append(append([]string{}, p.env...), env...)}
	}
	for _, tc := range []struct {
		env    []string
		reason string // empty: it runs
	}{
		{[]string{"JIG_BWRAP_PATH=" + other}, "bwrap"},
		{[]string{"SSL_CERT_FILE=" + ca}, "ca"},
		{[]string{"JIG_HTTPS_PROXY=http://127.0.0.1:9"}, "proxy"},
		{[]string{"HOME=/nonexistent"}, ""},
		{[]string{"TERM=dumb"}, ""},
		{[]string{"LANG=C"}, ""},
		{[]string{"DOCS_TOKEN=another"}, ""},
		{[]string{"HTTPS_PROXY=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9"}, ""},
	} {
		o := with(tc.env...).jig("run", "binding:docs")
		if tc.reason == "" {
			o.is(0)
			continue
		}
		o.is(2, "code", `"REVIEW_REQUIRED"`)
		require.Contains(t, string(o.record()["details"]), fmt.Sprintf(`"changed":[%q`, tc.reason))
		require.Contains(t, o.stderr, tc.reason)
	}
	// What no grant of a target goes by does not matter to it.
	with("SSL_CERT_FILE="+ca).jig("run", "flow:flows/hello").is(0)

	// Declarations do not reach a run at all; the next review shows them.
	for name, text := range map[string]string{
		"grants/docs.json": `{"kind":"http","url":"https://example.org/","method":"GET"}`,
		"jig.json":         strings.TrimSuffix(data, "}") + `,"agents":["codex"]}`,
		"bindings/docs.ts": strings.Replace(docs(server.URL)["bindings/docs.ts"], server.URL, server.URL+"/other", 1),
	} {
		p.write(map[string]string{name: text})
		p.jig("run", "binding:docs").is(0, "output", `{"body":"ok","status":200}`)
	}
	o := p.jig("run", "binding:docs").is(0)
	require.Contains(t, o.stderr, "the source differs from what was reviewed (bindings/docs.ts, jig.json)")
	o = p.jig("review", "--plan")
	require.Contains(t, o.stdout, `"kind":"agents"`)
	require.Contains(t, o.stdout, `"kind":"grant","op":"change","subject":"binding:docs#page"`)
}

func TestAFlowCallsTheFlowThatFillsItsSlot(t *testing.T) {
	p := reviewed(t, map[string]string{
		"flows/top/FLOW.ts":        flow(`const r = await run.call({ operationId: "a", slot: "helper", input: "child" }); return { outcome: "done", output: [r.output] }`),
		"flows/top/FLOW.meta.json": `{"uses":{"helper":{"contract":"./greet.json"}}}`, "flows/top/greet.json": greet,
		"flows/greet/FLOW.ts": hello, "flows/greet/FLOW.contract.json": greet,
	})
	p.jig("run", "flow:flows/top").is(0, "output", `["Hello, child!"]`)
	o := p.jig("review").is(0)
	require.Contains(t, o.stdout, `"status":"unchanged"`)

	p = reviewed(t, map[string]string{
		"flows/top/FLOW.ts":        flow(`await run.call({ operationId: "a", slot: "helper", input: null }); return { outcome: "done", output: 1 }`),
		"flows/top/FLOW.meta.json": `{"uses":{"helper":{"contract":"./greet.json"}}}`, "flows/top/greet.json": greet,
		"flows/greet/FLOW.ts": flow(`console.log("below"); throw new OperationError("UNAVAILABLE", "not today")`), "flows/greet/FLOW.contract.json": greet,
	})
	o = p.jig("run", "flow:flows/top").is(1, "code", `"UNAVAILABLE"`, "message", `"not today"`)
	require.Contains(t, o.stderr, "flow:flows/top > flow:flows/greet | below\n")
}

const greet = `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json","id":"https://example.org/greet","version":"1.0.0"}`
