package sandbox

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// watch reads the resident memory of the scope while no cgroup bounds it.
func (p *Process) watch() {
	tick := time.NewTicker(WatchInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
			if resident(p.init, mostWatched) > p.limits.MemoryBytes {
				p.kill("memory")
			}
		}
	}
}

// mostWatched is the most processes that are looked at in one go.
const mostWatched = 4 * NativeTasks

// resident sums the resident bytes of pid and everything below it. A process
// that ends while it is being looked at counts as nothing; more than most are
// above any bound, for nobody knows what the rest of them hold.
func resident(pid, most int) int64 {
	var total int64
	queue := []int{pid}
	for at := 0; at < len(queue); at++ {
		if len(queue) > most {
			return math.MaxInt64
		}
		id := strconv.Itoa(queue[at])
		if b, err := os.ReadFile("/proc/" + id + "/statm"); err == nil {
			if fields := strings.Fields(string(b)); len(fields) > 1 {
				pages, _ := strconv.ParseInt(fields[1], 10, 64)
				total += pages * int64(os.Getpagesize())
			}
		}
		tasks, err := os.ReadDir("/proc/" + id + "/task")
		if err != nil {
			continue
		}
		for _, t := range tasks {
			b, err := os.ReadFile("/proc/" + id + "/task/" + t.Name() + "/children")
			if err != nil {
				continue
			}
			for child := range strings.FieldsSeq(string(b)) {
				if n, err := strconv.Atoi(child); err == nil {
					queue = append(queue, n)
				}
			}
		}
	}
	return total
}
