package client

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

const noSuch wirev2.Method = "test.echo" // a method of which the table says nothing

// rule: W-060
func TestAnswersComeInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		var calls []<-chan answer
		var asked []wirev2.Request
		for i := range 5 {
			calls = append(calls, start(bg, c, Call{Method: noSuch}, echo{strconv.Itoa(i)}))
			asked = append(asked, d.next())
			require.Equal(t, `{"text":"`+strconv.Itoa(i)+`"}`, string(asked[i].Payload))
		}
		seen := map[string]bool{}
		for _, i := range []int{3, 0, 4, 2, 1} {
			require.False(t, seen[asked[i].RequestID], "unique among the unanswered")
			seen[asked[i].RequestID] = true
			d.reply(asked[i], echo{"answer " + strconv.Itoa(i)})
			got := <-calls[i]
			require.NoError(t, got.err)
			require.Equal(t, "answer "+strconv.Itoa(i), got.reply.Text)
		}
	})
}

func TestTheDaemonsErrorsComeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		call := start(bg, c, Call{Method: noSuch}, nil)
		d.reply(d.next(), &wirev2.Error{Code: wirev2.CodeUnknownMethod, Message: "no such method"})
		var failure *wirev2.Error
		require.ErrorAs(t, (<-call).err, &failure)
		require.Equal(t, wirev2.CodeUnknownMethod, failure.Code)
		require.NoError(t, c.Err(), "the connection lives on")
	})
}

func TestPayloadsAndRepliesOfAllKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		go func() {
			for range 4 {
				q := d.next()
				d.reply(q, echo{string(q.Payload)})
			}
		}()
		var raw jsontext.Value
		require.NoError(t, c.Call(bg, &Call{Method: noSuch}, nil, &raw))
		require.Equal(t, `{"text":"{}"}`, string(raw))
		require.NoError(t, c.Call(bg, &Call{Method: noSuch}, jsontext.Value(` {"a" : 1}`), nil))
		first := string(raw)
		require.NoError(t, c.Call(bg, &Call{Method: noSuch}, &echo{"x"}, &raw))
		require.Equal(t, `{"text":"{\"text\":\"x\"}"}`, string(raw))
		require.Equal(t, `{"text":"{}"}`, first)
		err := c.Call(bg, &Call{Method: noSuch}, nil, &wirev2.TurnStopReply{})
		var failure *wirev2.Error
		require.ErrorContains(t, err, "does not fit")
		require.NotErrorAs(t, err, &failure, "it is not the daemon who says so")

		require.Error(t, c.Call(bg, &Call{Method: noSuch}, 1, nil))
		require.Error(t, c.Call(bg, &Call{Method: noSuch, SessionID: "x"}, nil, nil))
		require.Error(t, c.Call(bg, &Call{Method: noSuch, Deadline: -time.Second}, nil, nil))
		require.ErrorIs(t, c.Call(bg, &Call{Method: noSuch}, echo{strings.Repeat("x", 32768)}, nil), wirev2.ErrTooLarge)
		require.Empty(t, c.pending)
		require.NoError(t, c.Err())
	})
}

func TestDeadlinesAreSentInMillisecondsRoundedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		for deadline, want := range map[time.Duration]int64{
			0: 30000, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 600 * time.Second: 600000,
		} {
			call := start(bg, c, Call{Method: noSuch, Deadline: deadline}, nil)
			q := d.next()
			require.Equal(t, want, q.DeadlineMS)
			d.reply(q, echo{})
			require.NoError(t, (<-call).err)
		}
		require.Error(t, c.Call(bg, &Call{Method: noSuch, Deadline: 600*time.Second + 1}, nil, nil))
	})
}

func TestOperationIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		own := wirev2.NewID()
		call := start(bg, c, Call{Method: wirev2.MethodSessionCreate, OperationID: own}, nil)
		q := d.next()
		require.Equal(t, own, q.OperationID)
		d.reply(q, echo{})
		require.Equal(t, own, (<-call).call.OperationID)

		call = start(bg, c, Call{Method: wirev2.MethodSessionCreate}, nil)
		q = d.next()
		require.True(t, q.OperationID.Valid(), "filled in")
		d.reply(q, echo{})
		require.Equal(t, q.OperationID, (<-call).call.OperationID, "and returned")

		call = start(bg, c, Call{Method: wirev2.MethodDaemonStatus}, nil)
		q = d.next()
		require.Empty(t, q.OperationID, "a read has none")
		d.reply(q, echo{})
		require.NoError(t, (<-call).err)

		ctx, cancel := context.WithCancel(bg)
		cancel()
		lost := Call{Method: wirev2.MethodSessionCreate}
		unanswered := requireUnanswered(t, c.Call(ctx, &lost, nil, nil), false, context.Canceled)
		require.True(t, lost.OperationID.Valid())
		require.Equal(t, lost.OperationID, unanswered.OperationID)
		require.ErrorContains(t, unanswered, "session.create: not sent")
	})
}

func TestAContextEndsTheWaitAndTheAnswerIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, Options{Name: "test", Version: "1", MaxInFlight: 1})
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		first := start(ctx, c, Call{Method: wirev2.MethodSessionCreate}, nil)
		q := d.next()
		got := <-first
		unanswered := requireUnanswered(t, got.err, true, context.DeadlineExceeded)
		require.Equal(t, q.OperationID, unanswered.OperationID)
		require.ErrorContains(t, unanswered, "session.create: sent, not answered")

		// Its place is taken until the answer comes, so that the daemon's bound is never met.
		ctx2, cancel2 := context.WithTimeout(bg, time.Second)
		defer cancel2()
		requireUnanswered(t, c.Call(ctx2, &Call{Method: noSuch}, nil, nil), false, context.DeadlineExceeded)
		second := start(bg, c, Call{Method: noSuch}, nil)
		synctest.Wait()
		d.reply(q, wirev2.SessionCreateReply{SessionID: wirev2.NewID()})
		d.reply(d.next(), echo{"second"})
		got = <-second
		require.NoError(t, got.err)
		require.Equal(t, "second", got.reply.Text)
	})
}

func TestADaemonThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		begun := time.Now()
		stuck := start(bg, c, Call{Method: noSuch}, echo{"stuck"})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, 100*time.Millisecond)
		defer cancel()
		own := wirev2.NewID()
		err := c.Call(ctx, &Call{Method: wirev2.MethodSessionCreate, OperationID: own}, nil, nil)
		requireUnanswered(t, err, false, context.DeadlineExceeded)
		require.Equal(t, 100*time.Millisecond, time.Since(begun))

		// The caller whose record is stuck keeps its word, too.
		late, cancelLate := context.WithTimeout(bg, time.Second)
		defer cancelLate()
		third := start(late, c, Call{Method: noSuch}, echo{"third"})
		requireUnanswered(t, (<-third).err, false, context.DeadlineExceeded)

		// What was given up before it left never arrives.
		require.Equal(t, `{"text":"stuck"}`, string(func() jsontext.Value { q := d.next(); d.reply(q, echo{}); return q.Payload }()))
		require.NoError(t, (<-stuck).err)
		fourth := start(bg, c, Call{Method: noSuch}, echo{"fourth"})
		q := d.next()
		require.Equal(t, `{"text":"fourth"}`, string(q.Payload))
		d.reply(q, echo{})
		require.NoError(t, (<-fourth).err)
	})
}

func TestAWriteThatTakesTooLongDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := plain
		options.WriteTimeout = 3 * time.Second
		c, _ := connect(t, options)
		begun := time.Now()
		got := <-start(bg, c, Call{Method: noSuch}, nil)
		requireUnanswered(t, got.err, true, c.Err())
		requireDisconnect(t, got.err, nil)
		require.ErrorContains(t, got.err, "did not read in time")
		require.Equal(t, patience+3*time.Second, time.Since(begun))
	})
}

func TestTheEndOfTheConnectionEndsEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, Options{Name: "test", Version: "1", MaxInFlight: 2})
		first := start(bg, c, Call{Method: wirev2.MethodSessionCreate}, nil)
		q := d.next()
		second := start(bg, c, Call{Method: noSuch}, nil)
		d.next()
		third := start(bg, c, Call{Method: noSuch}, nil) // waits for its place
		synctest.Wait()
		require.NoError(t, d.conn.Close())
		unanswered := requireUnanswered(t, (<-first).err, true, io.EOF)
		require.Equal(t, q.OperationID, unanswered.OperationID)
		requireUnanswered(t, (<-second).err, true, io.EOF)
		requireUnanswered(t, (<-third).err, false, io.EOF)
		<-c.Done()
		requireDisconnect(t, c.Err(), io.EOF)
		requireUnanswered(t, c.Call(bg, &Call{Method: noSuch}, nil, nil), false, io.EOF)
		_, err := c.Subscribe(nil).Next(bg)
		requireDisconnect(t, err, io.EOF)
	})
}

func TestCloseEndsEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		call := start(bg, c, Call{Method: noSuch}, nil)
		d.next()
		require.NoError(t, c.Close())
		requireUnanswered(t, (<-call).err, true, ErrClosed)
		require.Equal(t, ErrClosed, c.Err())
		require.NoError(t, c.Close(), "again")
		requireUnanswered(t, c.Call(bg, &Call{Method: noSuch}, nil, nil), false, ErrClosed)
		_, err := d.reader.ReadRequest()
		require.Equal(t, io.EOF, err)
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, Options{Name: "test", Version: "1", MaxInFlight: 8})
		go func() {
			for {
				q, err := d.reader.ReadRequest()
				if err != nil || d.tryReply(q, echo{string(q.Payload)}) != nil {
					return
				}
			}
		}()
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				for n := range 30 {
					in := jsontext.Value(`{"a":"` + strconv.Itoa(i*1000+n) + strings.Repeat("x", n*100) + `"}`)
					ctx, cancel := context.WithCancel(bg)
					if n%5 == 0 {
						go cancel()
					}
					var out echo
					switch err := c.Call(ctx, &Call{Method: noSuch}, in, &out); {
					case err == nil && out.Text != string(in):
						t.Error("a call got the answer of another")
					case err != nil && ctx.Err() == nil:
						t.Error(err)
					}
					cancel()
				}
			})
		}
		group.Wait()
		require.NoError(t, c.Err())
	})
}
