// Command engine stands in for jig inside a scope, and misbehaves there: as a Flow
// it eats where its input says so and stays where not, and it compiles nothing,
// which takes for ever where the package has a file named stay.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	wish := "stay"
	switch os.Args[1] {
	case "__compile":
		if _, err := os.Stat("/package/stay"); err != nil {
			os.Exit(1)
		}
	case "__flow":
		run, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil {
			os.Exit(1)
		}
		if strings.Contains(run, `"input":"eat"`) {
			wish = "eat"
		}
	}
	var kept [][]byte
	for wish == "eat" {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	fmt.Fprintln(os.Stderr, "staying", len(kept))
	for {
		time.Sleep(time.Hour)
	}
}
