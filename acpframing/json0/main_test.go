package json0_test

import (
	"flag"
	"os"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")
