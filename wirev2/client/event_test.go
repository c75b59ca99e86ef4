package client

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

var sessionA, sessionB = wirev2.NewID(), wirev2.NewID()

// next wants an event and returns the text in it.
func next(t *testing.T, s *Subscription) string {
	t.Helper()
	e, err := s.Next(bg)
	require.NoError(t, err)
	body, err := e.Decode()
	require.NoError(t, err)
	return body.(*wirev2.TurnTextEvent).Text
}

func TestEventsGoToTheSubscriptionsThatMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		all, a, none := c.Subscribe(nil), c.Subscribe(OfSession(sessionA)), c.Subscribe(ForExecutor)
		d.text(sessionA, 1, 1, "a1")
		d.text(sessionB, 7, 1, "b1")
		d.text(sessionA, 1, 2, "a2")
		for _, want := range []string{"a1", "b1", "a2"} {
			require.Equal(t, want, next(t, all))
		}
		require.Equal(t, "a1", next(t, a))
		require.Equal(t, "a2", next(t, a))

		d.event(wirev2.Event{
			Event: wirev2.EventTurnApplicationToolCancel, SessionID: sessionA,
			Body: wirev2.TurnApplicationToolCancelEvent{TurnID: sessionA, CallID: sessionA, ExecutorID: sessionA, ExecutorGeneration: 1, Reason: wirev2.CancelToolTimeout},
		})
		e, err := none.Next(bg)
		require.NoError(t, err)
		require.Equal(t, wirev2.EventTurnApplicationToolCancel, e.Event)
		require.Equal(t, sessionA, e.SessionID)

		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		_, err = none.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, c.Dropped())
	})
}

func TestEventsAreCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		all := c.Subscribe(nil)
		d.text(sessionA, 1, 1, "first")
		d.text(sessionA, 1, 2, "other")
		synctest.Wait()
		require.Equal(t, "first", next(t, all))
		require.Equal(t, "other", next(t, all))
	})
}

func TestEventsNobodyTakesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		s := c.Subscribe(OfSession(sessionB))
		d.text(sessionA, 1, 1, "x")
		d.text(sessionA, 1, 2, "x")
		synctest.Wait()
		require.Equal(t, int64(2), c.Dropped())
		s.Close()
		d.text(sessionB, 1, 1, "x")
		synctest.Wait()
		require.Equal(t, int64(3), c.Dropped())
		_, err := s.Next(bg)
		require.Equal(t, ErrClosed, err)
		s.Close()
	})
}

func TestASubscriptionHoldsAsManyEventsAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for events, ok := range map[int64]bool{2: true, 3: true, 4: false} {
			options := plain
			options.MaxQueueRecords = 3
			requireQueue(t, options, events, strings.Repeat("x", 10), ok)
		}
	})
}

func TestASubscriptionHoldsAsManyBytesAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		payload, err := wirev2.EncodePayload(wirev2.TurnTextEvent{TurnID: sessionA, Text: strings.Repeat("x", 1000)})
		require.NoError(t, err)
		for bound, ok := range map[int]bool{3*len(payload) - 1: false, 3 * len(payload): true, 3*len(payload) + 1: true} {
			options := plain
			options.MaxQueueBytes = bound
			requireQueue(t, options, 3, strings.Repeat("x", 1000), ok)
		}
	})
}

// requireQueue sends events to a subscription that nobody reads, and wants all of them kept, or all but the last.
func requireQueue(t *testing.T, options Options, events int64, text string, ok bool) {
	t.Helper()
	c, d := connect(t, options)
	slow, other := c.Subscribe(nil), c.Subscribe(nil)
	for i := range events {
		d.text(sessionA, 1, i+1, text)
		require.Equal(t, text, next(t, other), "another subscription is not touched")
	}
	synctest.Wait()
	kept := events
	if !ok {
		kept--
	}
	for range kept {
		require.Equal(t, text, next(t, slow))
	}
	if !ok {
		_, err := slow.Next(bg)
		require.Equal(t, ErrSlow, err)
		_, err = slow.Next(bg)
		require.Equal(t, ErrSlow, err, "and stays so")
	}
	d.text(sessionA, 1, events+1, "later")
	require.Equal(t, "later", next(t, other))
	if ok {
		require.Equal(t, "later", next(t, slow), "what was read gave its room back")
	}
	require.NoError(t, c.Err(), "calls go on")
	require.NoError(t, c.Close())
}

func TestWhatWasReceivedIsReadAfterADisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		all := c.Subscribe(nil)
		d.text(sessionA, 1, 1, "kept")
		require.NoError(t, d.conn.Close())
		<-c.Done()
		require.Equal(t, "kept", next(t, all))
		_, err := all.Next(bg)
		requireDisconnect(t, err, io.EOF)
	})
}

func TestAReaderThatWaitsIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		s := c.Subscribe(nil)
		got := make(chan error, 1)
		wait := func() { _, err := s.Next(bg); got <- err }
		go wait()
		synctest.Wait()
		d.text(sessionA, 1, 1, "x")
		require.NoError(t, <-got)
		go wait()
		synctest.Wait()
		s.Close()
		require.Equal(t, ErrClosed, <-got)
		s = c.Subscribe(nil)
		go wait()
		synctest.Wait()
		require.NoError(t, c.Close())
		require.Equal(t, ErrClosed, <-got)
	})
}

func TestTheLiveSequenceOfAGrantHasNoGap(t *testing.T) {
	type sent struct {
		session              wirev2.ID
		generation, sequence int64
	}
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			good []sent
			bad  sent
		}{
			"a gap":                {[]sent{{sessionA, 1, 1}, {sessionA, 1, 2}}, sent{sessionA, 1, 4}},
			"a repeat":             {[]sent{{sessionA, 1, 1}, {sessionA, 1, 2}}, sent{sessionA, 1, 2}},
			"no beginning":         {nil, sent{sessionA, 1, 2}},
			"a grant that is over": {[]sent{{sessionA, 1, 1}, {sessionA, 3, 1}}, sent{sessionA, 1, 2}},
			"no new beginning":     {[]sent{{sessionA, 1, 1}}, sent{sessionA, 2, 2}},
			"two sessions":         {[]sent{{sessionA, 1, 1}, {sessionB, 1, 1}, {sessionA, 1, 2}}, sent{sessionB, 1, 3}},
		} {
			client, d := connect(t, plain)
			all := client.Subscribe(nil)
			for _, e := range c.good {
				d.text(e.session, e.generation, e.sequence, "x")
				require.Equal(t, "x", next(t, all), name)
			}
			d.text(c.bad.session, c.bad.generation, c.bad.sequence, "x")
			<-client.Done()
			requireDisconnect(t, client.Err(), nil)
			require.ErrorContains(t, client.Err(), "grant", name)
			_, err := all.Next(bg)
			requireDisconnect(t, err, nil)
		}
	})
}
