// Command minimal is the least that a Go process does: the limit that a run is
// measured against.
package main

import "fmt"

func main() { fmt.Println("Hello, world!") }
