package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

type checkRecord struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitzero"`
	Fix    string `json:"fix,omitzero"`

	code string // of a failed one; empty: UNAVAILABLE
}

func (a *app) doctorCommand(end func(ending)) *cobra.Command {
	c := a.command("doctor [CLIENT]", "Try what jig needs of this machine", atMost(1), func(ctx context.Context, args []string) ending {
		if len(args) == 1 {
			if !isClient(args[0]) {
				return a.refused(errClient)
			}
			return a.doctor(ctx, args[0])
		}
		return a.doctor(ctx, "")
	}, end)
	c.ValidArgs, c.ValidArgsFunction = clients, nil
	return c
}

// doctor tries the real thing: both kinds of scope with their real flags, and of a
// client everything that a review asks of it.
func (a *app) doctor(ctx context.Context, name string) ending {
	checks := a.examine(ctx)
	if name != "" {
		checks = append(checks, a.examineClient(ctx, nativeinspect.Client(name))...)
	}
	if ctx.Err() != nil {
		return a.refused(ctx.Err())
	}
	e := ending{human: checksText(a.outStyle, checks)}
	status, list := statusSucceeded, []project.Diagnostic{}
	for _, c := range checks {
		if !c.OK {
			code := c.code
			if code == "" {
				code = codeUnavailable
			}
			status, e.exit = statusFailed, max(e.exit, exitOf(code))
			list = append(list, project.Diagnostic{Code: code, Message: c.Check + ": " + c.Detail, Hint: c.Fix})
		}
	}
	e.record = record{"status": status, "checks": checks, "diagnostics": list}
	if a.json {
		a.say("%s", strings.TrimSuffix(checksText(a.errStyle, checks), "\n"))
	}
	return e
}

func checksText(s style, checks []checkRecord) string {
	var b strings.Builder
	for _, c := range checks {
		mark := s.paint(green, s.yes())
		if !c.OK {
			mark = s.paint(red, s.no())
		}
		fmt.Fprintf(&b, "%s %s\n", mark, s.wrap(strings.TrimSuffix(c.Check+": "+escape(c.Detail), ": "), 2))
		if c.Fix != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.arrow(), s.wrap(escape(c.Fix), 4))
		}
	}
	return b.String()
}

func (a *app) examine(ctx context.Context) []checkRecord {
	override, set := a.env.Lookup(project.BwrapVariable)
	bwrap, rejected, err := sandbox.FindBwrap(sandbox.Search{Path: a.env.Get(project.PathVariable), Override: override, Set: set, Project: a.dir})
	if err != nil {
		return append([]checkRecord{failed("bubblewrap", err)}, passedOver(rejected)...)
	}
	version, err := sandbox.Version(ctx, bwrap)
	if err != nil {
		c := failed("bubblewrap", err)
		c.Detail = bwrap + ": " + c.Detail
		return []checkRecord{c}
	}
	checks := append([]checkRecord{{Check: "bubblewrap", OK: true, Detail: bwrap + ", version " + version}}, passedOver(rejected)...)
	launcher, _, err := a.launcher()
	if err != nil {
		return append(checks, failed("scopes", err))
	}
	jig, err := os.Executable()
	if err == nil {
		err = state.CheckProgram(jig)
	}
	if err != nil {
		return append(checks, failed("scopes", err))
	}
	for _, p := range sandbox.Probe(ctx, launcher, jig, sandbox.ProbeCommand) {
		network := "without a network"
		if p.Scope == "native" {
			network = "with the network"
		}
		checks = append(checks, checkRecord{Check: p.Scope + " scope (" + network + ")", OK: p.OK, Detail: p.Reason, Fix: p.Fix})
	}
	bounds := checkRecord{Check: "bounds", OK: true, Detail: "cgroup: memory and tasks of a whole scope are bounded by the kernel"}
	if launcher.Bounds() != "cgroup" {
		bounds.Detail = "rlimit: no delegated cgroup v2 here, so a scope's memory is watched and its data bounded a process"
	}
	return append(checks, bounds, a.ambientProxy())
}

// examineClient goes through the stages of a client's setup.
func (a *app) examineClient(ctx context.Context, c nativeinspect.Client) []checkRecord {
	found, err := client.Diagnose(ctx, c, a.env, a.outside(), time.Now())
	if err != nil {
		return nil // the command was interrupted
	}
	var checks []checkRecord
	for _, f := range found {
		check := checkRecord{Check: string(c) + " " + string(f.Stage), OK: f.Problem == nil, Detail: f.Detail}
		if f.Problem != nil {
			check.Detail, check.Fix, check.code = f.Problem.Message, f.Problem.Hint, f.Problem.Code
		}
		checks = append(checks, check)
	}
	return checks
}

func failed(check string, err error) checkRecord {
	r := refusalOf(err)
	return checkRecord{Check: check, Detail: strings.TrimPrefix(r.message, "bubblewrap cannot be used: "), Fix: r.hint}
}

func passedOver(rejected []sandbox.Rejected) []checkRecord {
	var list []checkRecord
	for _, r := range rejected {
		list = append(list, checkRecord{Check: "passed over", OK: true, Detail: r.Path + ": " + r.Reason})
	}
	return list
}

// ambientProxy says which proxy and certificates a review would take, and what of
// the usual proxy variables reaches a resource: nothing.
func (a *app) ambientProxy() checkRecord {
	c := checkRecord{Check: "proxy and certificates", OK: true, Detail: "no proxy"}
	reach, err := project.NewReach(a.env)
	if err != nil {
		c.OK, c.Detail, c.Fix, c.code = false, err.Error(), "correct the variable or unset it", project.CodeHTTPUnavailable
		return c
	}
	if reach.Proxy != "" {
		c.Detail = project.ProxyVariable + " is " + reach.Proxy
		if reach.NoProxy != "" {
			c.Detail += ", not for " + reach.NoProxy
		}
	}
	if reach.CA != "" {
		c.Detail += "; " + project.CAVariable + " names certificates " + reach.CA
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if a.env.Get(name) != "" {
			c.Detail += "; " + name + " is set and is not used, name a proxy in " + project.ProxyVariable
			break
		}
	}
	return c
}
