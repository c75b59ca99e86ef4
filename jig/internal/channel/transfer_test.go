package channel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

type ports = map[string]contract.Port

func (r rig) transfer(p ports, channels map[string]string) string {
	_, err := r.Transfer(root, child, p, channels)
	return code(err)
}

func TestMovingKeepsTheSource(t *testing.T) {
	// rule
	r := newRig(t)
	agreement := named(t, "a", `true`)
	w, rd := r.direct(root, channel.Options{Contract: agreement})
	r.send(root, w, `1`)
	port := receivePort()
	port.Contract = agreement
	optional := receivePort()
	optional.Required = false
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": sendPort()}, map[string]string{"in": rd.Endpoint}))
	grants, err := r.Transfer(root, child, ports{"in": port, "other": optional}, map[string]string{"in": rd.Endpoint})
	require.Nil(t, err, "a refused endpoint can be offered again")
	require.Len(t, grants, 1)
	moved := grants["in"]
	require.NotEqual(t, rd.Endpoint, moved.Endpoint)
	require.Equal(t, agreement.Identity, *moved.Contract)
	require.EqualValues(t, 1, moved.StartSequence)
	require.Equal(t, "PERMISSION_DENIED", r.next(root, rd).answer)
	require.Equal(t, "1:1", r.next(child, moved).answer)
	// Another root is another broker: its endpoints mean nothing here.
	stranger := newRig(t)
	require.Equal(t, "PERMISSION_DENIED", stranger.next(child, moved).answer)
}

func TestAdmissionChecksInOrder(t *testing.T) {
	// rule
	r := newRig(t)
	w, rd := r.direct(root)
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": receivePort()}, nil), "a required port")
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{}, map[string]string{"in": rd.Endpoint}), "an undeclared name")
	require.Equal(t, "PERMISSION_DENIED", r.transfer(ports{"in": receivePort()}, map[string]string{"in": "unknown"}))
	_, err := r.Transfer(child, second, ports{"in": receivePort()}, map[string]string{"in": rd.Endpoint})
	require.Equal(t, fault.PermissionDenied, err.Code, "a foreign endpoint")
	require.Equal(t, "PERMISSION_DENIED", r.transfer(ports{"a": receivePort(), "b": receivePort()}, map[string]string{"a": rd.Endpoint, "b": rd.Endpoint}))
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": receivePort()}, map[string]string{"in": w.Endpoint}))
	broadcast := receivePort()
	broadcast.Delivery = contract.Broadcast
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": broadcast}, map[string]string{"in": rd.Endpoint}))

	used, _ := r.direct(root)
	r.send(root, used, `1`)
	require.Equal(t, "PERMISSION_DENIED", r.transfer(ports{"out": sendPort()}, map[string]string{"out": used.Endpoint}))

	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	r.send(root, c.Send, `1`)
	late, err := r.Subscribe(root, c.Source)
	require.Nil(t, err)
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": receivePort()}, map[string]string{"in": late.Endpoint}), "it does not begin at 1")
	require.Equal(t, "PERMISSION_DENIED", r.transfer(ports{"in": receivePort()}, map[string]string{"in": c.Source}), "a source is no endpoint")
	suffix := receivePort()
	suffix.Start = contract.Suffix
	require.Equal(t, "ok", r.transfer(ports{"in": suffix}, map[string]string{"in": late.Endpoint}))

	// A failed source.
	w, rd = r.direct(root)
	r.close(root, w, true)
	require.Equal(t, "DISCONNECTED", r.transfer(ports{"in": receivePort()}, map[string]string{"in": rd.Endpoint}))
}

func TestWhatMarksAnEndpointUsed(t *testing.T) {
	// rule
	for name, use := range map[string]func(r rig, w, rd channel.Grant) channel.Grant{
		"send":    func(r rig, w, rd channel.Grant) channel.Grant { r.send(root, w, `1`); return w },
		"close":   func(r rig, w, rd channel.Grant) channel.Grant { r.close(root, w, false); return w },
		"next":    func(r rig, w, rd channel.Grant) channel.Grant { r.next(root, rd); return rd },
		"release": func(r rig, w, rd channel.Grant) channel.Grant { r.release(root, rd); return rd },
	} {
		r := newRig(t)
		w, rd := r.direct(root)
		g := use(r, w, rd)
		port := sendPort()
		if g == rd {
			port = receivePort()
		}
		require.Equal(t, "PERMISSION_DENIED", r.transfer(ports{"x": port}, map[string]string{"x": g.Endpoint}), name)
	}
	// The unused writer of a released receiver still moves; its use shows the end.
	r := newRig(t)
	w, rd := r.direct(root)
	r.release(root, rd)
	grants, err := r.Transfer(root, child, ports{"out": sendPort()}, map[string]string{"out": w.Endpoint})
	require.Nil(t, err)
	require.Equal(t, "DISCONNECTED", r.send(child, grants["out"], `1`).answer)
	require.Equal(t, "DISCONNECTED", r.close(child, grants["out"], false))
}

func TestIdentitiesOfMovedChannels(t *testing.T) {
	// rule
	a, b := named(t, "a", `true`), named(t, "b", `true`)
	with := func(p contract.Port, c *contract.Channel) contract.Port {
		p.Contract, p.Item = c, nil
		if c != nil {
			p.Item = c.Item
		}
		return p
	}
	for _, c := range []struct {
		name string
		made *contract.Channel
		port contract.Port
		want string
	}{
		{"equal reader", a, with(receivePort(), a), "ok"},
		{"other reader", a, with(receivePort(), b), "INVALID_INPUT"},
		{"unnamed to named reader", nil, with(receivePort(), a), "INVALID_INPUT"},
		{"named to generic reader", a, receivePort(), "ok"},
		{"equal writer", a, with(sendPort(), a), "ok"},
		{"other writer", a, with(sendPort(), b), "INVALID_INPUT"},
		{"named writer to generic port", a, sendPort(), "INVALID_INPUT"},
		{"unnamed writer to named port", nil, with(sendPort(), a), "ok"},
	} {
		r := newRig(t)
		w, rd := r.direct(root, channel.Options{Contract: c.made})
		g := w
		if c.port.Direction == contract.Receive {
			g = rd
		}
		require.Equal(t, c.want, r.transfer(ports{"x": c.port}, map[string]string{"x": g.Endpoint}), c.name)
	}
}

func TestSchemasOfMovedChannels(t *testing.T) {
	// rule
	number, text := schema(t, `{"type":"number"}`), schema(t, `{"type":"string"}`)
	port := func(p contract.Port, s *contract.ItemSchema) contract.Port { p.Item = s; return p }
	r := newRig(t)
	_, rd := r.direct(root, channel.Options{Item: number})
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": port(receivePort(), text)}, map[string]string{"in": rd.Endpoint}))
	require.Equal(t, "ok", r.transfer(ports{"in": port(receivePort(), schema(t, ` { "type" : "number" } `))}, map[string]string{"in": rd.Endpoint}))

	// Two entries of one map, in either order of names.
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		r := newRig(t)
		w, rd := r.direct(root)
		p := ports{names[0]: port(receivePort(), number), names[1]: port(sendPort(), text)}
		m := map[string]string{names[0]: rd.Endpoint, names[1]: w.Endpoint}
		require.Equal(t, "INVALID_INPUT", r.transfer(p, m))
		p[names[1]] = port(sendPort(), number)
		require.Equal(t, "ok", r.transfer(p, m), "and nothing had moved")
	}
	// What waits already has to fit.
	r = newRig(t)
	w, rd := r.direct(root)
	r.send(root, w, `"x"`)
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"in": port(receivePort(), number)}, map[string]string{"in": rd.Endpoint}))
	require.Equal(t, "ok", r.transfer(ports{"in": port(receivePort(), text)}, map[string]string{"in": rd.Endpoint}))
	// From now on the port's schema binds the writer.
	require.Equal(t, "INVALID_INPUT", r.send(root, w, `1`).answer)

	// One good and one bad entry move neither.
	r = newRig(t)
	_, good := r.direct(root)
	p := ports{"good": receivePort(), "other": receivePort()}
	require.Equal(t, "PERMISSION_DENIED", r.transfer(p, map[string]string{"good": good.Endpoint, "other": "x"}))
	require.Equal(t, "pending", r.next(root, good).answer)

	// Live subscribers count for a writer.
	r = newRig(t)
	c, err := r.Create(root, channel.Options{Delivery: contract.Broadcast})
	require.Nil(t, err)
	sub, err := r.Subscribe(root, c.Source)
	require.Nil(t, err)
	require.Equal(t, "ok", r.transfer(ports{"in": port(receivePort(), number)}, map[string]string{"in": sub.Endpoint}))
	require.Equal(t, "INVALID_INPUT", r.transfer(ports{"out": port(sendPort(), text)}, map[string]string{"out": c.Send.Endpoint}))
	require.Equal(t, "ok", r.transfer(ports{"out": port(sendPort(), number)}, map[string]string{"out": c.Send.Endpoint}))
}

func TestCheckChangesNothing(t *testing.T) {
	r := newRig(t)
	_, rd := r.direct(root)
	for range 2 {
		require.Nil(t, r.Check(root, ports{"in": receivePort()}, map[string]string{"in": rd.Endpoint}))
	}
	require.Equal(t, "pending", r.next(root, rd).answer)
	require.Equal(t, fault.PermissionDenied, r.Check(root, ports{"in": receivePort()}, map[string]string{"in": rd.Endpoint}).Code)
}
