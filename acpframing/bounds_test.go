package acpframing_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
)

// fill adds full fragments until n bytes are in, and ends the frame.
func fill(t testing.TB, j *acpframing.Joiner, n int) error {
	t.Helper()
	full := []byte(whole(8192))
	for n > 0 {
		k := min(n, 8192)
		n -= k
		f, err := j.AddText(full[:k], n == 0)
		if err != nil {
			return err
		}
		if (f != nil) != (n == 0) {
			require.Fail(t, "a frame ends with its last fragment")
		}
	}
	return nil
}

func TestTheBoundsAreThoseOfTheTable(t *testing.T) {
	require.Equal(t, acpframing.Limits{
		FragmentBytes: 8192, FrameBytes: 16_777_216, TotalBytes: 8_388_608, Frames: 64, Fragments: 16_384,
	}, acpframing.Requests.Limits())
	require.Equal(t, acpframing.Limits{
		FragmentBytes: 8192, FrameBytes: 16_777_216, TotalBytes: 33_554_432, Frames: 8192, Fragments: 16_384,
	}, acpframing.Responses.Limits())
}

// rule: F-046
func TestAFrameHasUpTo16MiB(t *testing.T) {
	j := newJoiner(t, acpframing.Responses)
	require.NoError(t, fill(t, j, 16_777_215))
	require.NoError(t, fill(t, j, 16_777_216))

	j = newJoiner(t, acpframing.Responses)
	dead(t, j, fill(t, j, 16_777_217), acpframing.RuleFrameBytes)

	// A request frame meets the bound of all frames first.
	j = newJoiner(t, acpframing.Requests)
	dead(t, j, fill(t, j, 16_777_217), acpframing.RuleTotalBytes)
}

// rule: F-047
func TestAllRequestFramesTogetherHave8MiB(t *testing.T) {
	j := newJoiner(t, acpframing.Requests)
	require.NoError(t, fill(t, j, 8_388_608))
	_, err := j.Add(item(t, "a", false))
	dead(t, j, err, acpframing.RuleTotalBytes)

	j = newJoiner(t, acpframing.Requests)
	require.NoError(t, fill(t, j, 3_000_000))
	require.NoError(t, fill(t, j, 3_000_000))
	require.NoError(t, fill(t, j, 2_388_607))
	add(t, j, "a", true)
	_, err = j.Add(item(t, "a", true))
	dead(t, j, err, acpframing.RuleTotalBytes)
}

// rule: F-048
func TestAllResponseFramesTogetherHave32MiB(t *testing.T) {
	j := newJoiner(t, acpframing.Responses)
	for range 3 {
		require.NoError(t, fill(t, j, 10_000_000))
	}
	require.NoError(t, fill(t, j, 33_554_432-30_000_000))
	_, err := j.Add(item(t, "a", false))
	dead(t, j, err, acpframing.RuleTotalBytes)
}

// times adds one fragment again and again.
func times(t testing.TB, j *acpframing.Joiner, n int, text string, end bool) {
	t.Helper()
	raw := item(t, text, end)
	for range n {
		if f, err := j.Add(raw); err != nil || (f != nil) != end {
			require.NoError(t, err)
			require.Equal(t, end, f != nil)
		}
	}
}

// rule: F-049, F-050, F-053
func TestFramesAreCountedWhenTheyEnd(t *testing.T) {
	for d, most := range map[acpframing.Direction]int{acpframing.Requests: 64, acpframing.Responses: 8192} {
		j := newJoiner(t, d)
		for range most {
			times(t, j, 1, "{", false)
			times(t, j, 1, "}", true)
		}
		if d == acpframing.Requests { // responses have no fragment left
			add(t, j, "{", false) // a frame that has not ended is not counted
			_, err := j.Add(item(t, "}", true))
			dead(t, j, err, acpframing.RuleFrames)
		}

		j = newJoiner(t, d)
		times(t, j, most, "1", true)
		_, err := j.Add(item(t, "1", true))
		dead(t, j, err, acpframing.RuleFrames)

		j = newJoiner(t, d)
		times(t, j, most, "1", true)
		require.NoError(t, j.Finish())
	}
}

// rule: F-051, F-053
func TestFragmentsAreCountedAlsoOfPartialFrames(t *testing.T) {
	for _, d := range directions {
		j := newJoiner(t, d)
		times(t, j, 16_383, "1", false)
		times(t, j, 1, "1", true)
		_, err := j.Add(item(t, "1", true))
		dead(t, j, err, acpframing.RuleFragments)

		j = newJoiner(t, d)
		times(t, j, 16_384, "1", false)
		_, err = j.Add(item(t, "1", false))
		dead(t, j, err, acpframing.RuleFragments)
	}
}

func TestTheOrderOfTheChecks(t *testing.T) {
	narrow := acpframing.Limits{FragmentBytes: 8, FrameBytes: 16, TotalBytes: 20, Frames: 1, Fragments: 3}
	begin := func() *acpframing.Joiner {
		j, err := acpframing.NewJoiner(acpframing.Requests, narrow)
		require.NoError(t, err)
		_, err = j.AddText([]byte("12345678"), true) // one frame of one
		require.NoError(t, err)
		for range 2 {
			_, err = j.AddText([]byte("12345"), false)
			require.NoError(t, err)
		}
		return j // 3 fragments of 3, a frame of 10, 18 in all
	}
	// Every later rule is broken too; the first one is named.
	j := begin()
	_, err := j.Add([]byte(`{"kind":"data","text":"123456789","end":true,"x":1}`))
	dead(t, j, err, acpframing.RuleFragmentBytes) // found while the text is read, before what follows it
	j = begin()
	_, err = j.Add([]byte(`{"kind":"data","text":"12345678","end":true,"x":1}`))
	dead(t, j, err, acpframing.RuleShape)
	j = begin()
	_, err = j.AddText([]byte("123456789"), true)
	dead(t, j, err, acpframing.RuleFragmentBytes)
	j = begin()
	_, err = j.AddText([]byte("12345678"), true)
	dead(t, j, err, acpframing.RuleFragments)

	narrow.Fragments = 4
	j = begin()
	_, err = j.AddText([]byte("12345678"), true)
	dead(t, j, err, acpframing.RuleFrameBytes)
	j = begin()
	_, err = j.AddText([]byte("123456"), true)
	dead(t, j, err, acpframing.RuleTotalBytes)
	j = begin()
	_, err = j.AddText([]byte("12"), true)
	dead(t, j, err, acpframing.RuleFrames)
	j = begin()
	_, err = j.AddText([]byte("12"), false)
	require.NoError(t, err)
}

// rule: F-052
func TestAnOversizeFragmentAllocatesNothingForItsText(t *testing.T) {
	const rounds = 100
	for name, raw := range map[string][]byte{
		"written":    item(t, whole(60_000), false),
		"canonical":  []byte(`{"end":false,"kind":"data","text":"` + whole(60_000) + `"}`),
		"any":        []byte(` {"end":false,"text":"` + whole(60_000) + `","kind":"data"}`),
		"item":       []byte(`{"kind":"data","text":"` + whole(1<<20) + `","end":false}`),
		"in escapes": []byte(`{"kind":"data","text":"` + strings.Repeat(`\n`, 20_000) + `","end":false}`),
	} {
		joiners := make([]*acpframing.Joiner, rounds)
		for i := range joiners {
			joiners[i] = newJoiner(t, acpframing.Requests)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, j := range joiners {
			_, _ = j.Add(raw)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/rounds, uint64(4000), name) // the error, and what checks the item
		for _, j := range joiners {
			require.Zero(t, j.Held())
		}
	}
	// And one that exceeds a bound of the stream gets no storage.
	j := newJoiner(t, acpframing.Requests)
	require.NoError(t, fill(t, j, 8_388_608-1))
	held := j.Held()
	_, err := j.AddText([]byte(whole(8192)), false)
	require.Error(t, err)
	require.Less(t, held, 10_000)
	require.Zero(t, j.Held())
}

func TestAJoinerHoldsItsFrameAnd64KiB(t *testing.T) {
	for _, piece := range []int{1, 100, 5000, 8192} {
		j := newJoiner(t, acpframing.Responses)
		text := []byte(whole(piece))
		received := 0
		require.LessOrEqual(t, j.Held(), 64<<10)
		for received+piece < 16<<20 && received < 16_000*piece {
			if _, err := j.AddText(text, false); err != nil {
				require.NoError(t, err)
			}
			received += piece
			if j.Held() > received+64<<10 {
				require.LessOrEqual(t, j.Held(), received+64<<10, "after %d bytes", received)
			}
		}
		f, err := j.AddText([]byte("a"), true)
		require.NoError(t, err)
		require.Equal(t, received+1, f.Len())
		require.LessOrEqual(t, j.Held(), 16<<10, "nothing of a frame that was handed over")
	}
}

// What the runtime says, for a frame of 8 MiB.
func TestLiveMemoryIsTheFrameAnd64KiB(t *testing.T) {
	const size = 8 << 20
	text := []byte(whole(8192))
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	j := newJoiner(t, acpframing.Responses)
	var f *acpframing.Frame
	for i := range size / len(text) {
		var err error
		f, err = j.AddText(text, i == size/len(text)-1)
		require.NoError(t, err)
	}
	after := live()
	require.Equal(t, size, f.Len())
	require.Less(t, after-min(before, after), uint64(size+64<<10))
	runtime.KeepAlive(j)
	runtime.KeepAlive(f)
}

func TestAFragmentAllocatesNothingOnceThereIsStorage(t *testing.T) {
	for _, d := range directions {
		j := newJoiner(t, d)
		raw := item(t, whole(10)+"\n\"é", false)
		_, err := j.Add(raw)
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = j.Add(raw) }))

		s := newSplitter(t, d)
		require.NoError(t, s.Begin([]byte(whole(8_000_000))))
		dst, err := s.Next(nil)
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(900, func() { dst, _ = s.Next(dst[:0]) }))
	}
}

func TestRecycledStorageIsUsedAgain(t *testing.T) {
	j := newJoiner(t, acpframing.Responses)
	text := []byte(whole(8192))
	frame := func() *acpframing.Frame {
		for range 7 {
			_, err := j.AddText(text, false)
			require.NoError(t, err)
		}
		f, err := j.AddText(text, true)
		require.NoError(t, err)
		return f
	}
	j.Recycle(frame())
	require.LessOrEqual(t, j.Held(), 64<<10+16<<10)
	require.LessOrEqual(t, testing.AllocsPerRun(50, func() { j.Recycle(frame()) }), 4.0)

	first := frame()
	second := frame()
	require.Equal(t, whole(65_536), string(first.Bytes()))
	j.Recycle(first)
	require.Zero(t, first.Len())
	require.Empty(t, first.Bytes())
	require.Equal(t, whole(65_536), string(second.Bytes()), "another frame's storage is not touched")
	third := frame()
	copy(third.Bytes(), "THIRD")
	require.Equal(t, whole(65_536), string(second.Bytes()))

	require.NoError(t, j.Finish())
	j.Recycle(second)
	require.Equal(t, 65_536, second.Len(), "a finished joiner takes nothing")
	require.Zero(t, j.Held())
}

func TestLimitsAreNeverWiderThanTheTable(t *testing.T) {
	for _, d := range directions {
		most := d.Limits()
		for _, l := range []acpframing.Limits{
			{FragmentBytes: -1}, {FrameBytes: -1}, {TotalBytes: -1}, {Frames: -1}, {Fragments: -1},
			{FragmentBytes: most.FragmentBytes + 1}, {FrameBytes: most.FrameBytes + 1}, {TotalBytes: most.TotalBytes + 1},
			{Frames: most.Frames + 1}, {Fragments: most.Fragments + 1}, {FragmentBytes: 3},
		} {
			_, err := acpframing.NewJoiner(d, l)
			require.ErrorIs(t, err, acpframing.ErrConfig)
			_, err = acpframing.NewSplitter(d, l)
			require.ErrorIs(t, err, acpframing.ErrConfig)
		}
		_, err := acpframing.NewJoiner(d, most)
		require.NoError(t, err)
	}
	_, err := acpframing.NewJoiner(0, acpframing.Limits{})
	require.ErrorIs(t, err, acpframing.ErrConfig)
	require.Equal(t, "requests responses Direction(7)",
		acpframing.Requests.String()+" "+acpframing.Responses.String()+" "+acpframing.Direction(7).String())
}
