package scripted_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

// A reply that streams one piece of text and then closes in the middle of an
// event, as a server does that dies.
func Example() {
	s, err := scripted.StartReplies(
		scripted.Reply{Framing: scripted.UntilClose, Steps: []scripted.Step{
			scripted.Event(`{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}`),
			scripted.Write(`data: {"choi`),
			scripted.Close(),
		}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	fmt.Println(string(body))
	fmt.Println("asked:", string(s.Requests()[0].Body))
	// Output:
	// data: {"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}
	//
	// data: {"choi
	// asked: {"stream":true}
}

func ExampleParse() {
	script, err := scripted.Parse([]byte(`
# first the model asks for a file, then it answers
reply
call 0 call_1 read_file {"path":"README.md"}
finish tool_calls
done

reply
text "It says: "
text hello.
finish stop
usage 20 5
done
`))
	fmt.Println(len(script.Replies), err)

	_, err = scripted.Parse([]byte("reply\nfinnish stop\n"))
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// scripted: line 2: "finnish" is no instruction
}
