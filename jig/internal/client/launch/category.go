package launch

// Category is the closed kind of a native failure, for the host's operator. An
// unknown one prints as itself.
type Category string

// The categories (jig.md 7). None is the zero value: nobody knows.
const (
	Auth    Category = "auth"
	Rate    Category = "rate"
	Network Category = "network"
	Model   Category = "model"
	Service Category = "service"
	Expired Category = "expired"
)

func (c Category) known() bool {
	switch c {
	case Auth, Rate, Network, Model, Service, Expired:
		return true
	}
	return false
}
