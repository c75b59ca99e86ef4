package scripted

import (
	"errors"
	"net"
	"time"
)

// errHungUp: the client went, or the server is being closed.
var errHungUp = errors.New("scripted: the client hung up")

// play writes one reply. Its error is nil only when the reply ended as its
// framing says. Nothing is owed once the format's last event is out: a client may
// go then.
func (k *conn) play(a exchange, keep bool) (owed bool, err error) {
	p := player{conn: k, exchange: a, writer: a.writer(), keep: keep}
	err = p.all()
	return !p.done, err
}

func (p *player) all() error {
	r := p.reply
	explicit := r.Framing == Raw
	for _, s := range r.Steps {
		explicit = explicit || s.op == opHead
	}
	if !explicit {
		if err := p.head(); err != nil {
			return err
		}
	}
	if err := p.steps(r.Steps); err != nil {
		return err
	}
	if r.Framing == Chunked {
		return p.send([]byte("0\r\n\r\n"))
	}
	return nil
}

type player struct {
	*conn
	exchange
	writer  *writer
	keep    bool
	started bool // a piece of the body is out
	done    bool // the format's last event is out
}

func (p *player) head() error {
	return p.send(p.reply.head(p.exchange.writer(), time.Now(), p.keep))
}

func (p *player) steps(steps []Step) error {
	for _, s := range steps {
		if err := p.step(s); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) step(s Step) error {
	switch s.op {
	case opNothing:
		return nil
	case opHead:
		return p.head()
	case opWrite:
		return p.write(s.data)
	case opWait:
		return p.wait(s.wait)
	case opHold:
		return p.until(p.s.hold(s.data))
	case opClose:
		return errEnd
	case opReset:
		// Linger 0 makes the close a reset. TLS must not say goodbye first.
		if t, ok := under(p.c).(*net.TCPConn); ok {
			_ = t.SetLinger(0)
			_ = t.Close()
		}
		return errEnd
	case opRepeat:
		for n := 0; s.times < 0 || n < s.times; n++ {
			if err := p.steps(s.steps); err != nil {
				return err
			}
			select {
			case <-p.gone:
				return errHungUp
			case <-p.s.done:
				return errHungUp
			default:
			}
		}
		return nil
	default:
		err := p.write(p.writer.write(s))
		p.done = p.done || s.op == opDone && err == nil
		return err
	}
}

// write writes bytes of the body, split and paced as the reply says.
func (p *player) write(data string) error {
	for _, piece := range p.reply.pieces(data) {
		if p.started && p.reply.Split > 0 {
			if err := p.wait(p.reply.Pace); err != nil {
				return err
			}
		}
		p.started = true
		if err := p.send(p.reply.frame(nil, piece)); err != nil {
			return err
		}
	}
	return nil
}

// send makes one write on the connection. It blocks while the client does not
// read; hanging up and closing the server end it.
func (p *player) send(b []byte) error {
	if _, err := p.c.Write(b); err != nil {
		return errHungUp
	}
	return nil
}

func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.gone:
		return errHungUp
	case <-p.s.done:
		return errHungUp
	}
}

func (p *player) until(released <-chan struct{}) error {
	select {
	case <-released:
		return nil
	case <-p.gone:
		return errHungUp
	case <-p.s.done:
		return errHungUp
	}
}
