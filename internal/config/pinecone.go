package config

import (
	"errors"
	"strconv"
	"strings"
)

// Pinecone configures the vector indexes: the current one and, while the stage moves to another host, model or layout,
// the next one (docs/reindexing.md). The client does not use TLS for a host that begins with http://.
type Pinecone struct {
	// IndexHost is the host of the current index, whose vectors are of OPENAI_EMBEDDING_MODEL.
	IndexHost string `env:"PINECONE_INDEX_HOST"`
	APIKey    string `env:"PINECONE_API_KEY"`
	// Namespaces is the layout of the current index: the number of namespaces that all users share, 0 for one each.
	Namespaces Namespaces `env:"VECTOR_NAMESPACES" envDefault:"user"`
	// Next gets all writes that the current index gets. Without a host there is none.
	Next Index `env:"PINECONE_NEXT_INDEX"`
	// ServeNext has searches ask the next index in place of the current one.
	ServeNext bool `env:"PINECONE_SERVE_NEXT"`
}

// Index is an index by its host, with the model and the layout of its vectors.
type Index struct {
	Host       string
	Embedding  Embedding
	Namespaces Namespaces
}

// IndexForm says in words how an index is written.
const IndexForm = "a host, a model and a layout, such as b.svc.pinecone.io,m@3072,user"

// UnmarshalText reads "host,model@dimension,user" or "host,model@dimension,64".
func (x *Index) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ",")
	if len(parts) != 3 || parts[0] == "" {
		return errors.New("not a host, a model and a layout")
	}
	x.Host = parts[0]
	return errors.Join(x.Embedding.UnmarshalText([]byte(parts[1])), x.Namespaces.UnmarshalText([]byte(parts[2])))
}

// String returns what UnmarshalText reads.
func (x Index) String() string {
	layout := "user"
	if x.Namespaces > 0 {
		layout = strconv.Itoa(int(x.Namespaces))
	}
	return strings.Join([]string{x.Host, x.Embedding.Version(), layout}, ",")
}

// Embedding is an embedding model and the dimension of its vectors.
type Embedding struct {
	Model      string
	Dimensions int
}

// Version names the model and the dimension. It is stored with each vector.
func (e Embedding) Version() string { return e.Model + "@" + strconv.Itoa(e.Dimensions) }

// UnmarshalText reads what Version returns.
func (e *Embedding) UnmarshalText(text []byte) error {
	at := strings.LastIndexByte(string(text), '@') // a model may have one in its name
	if at < 1 {
		return errors.New("not a model and its dimension")
	}
	dimensions, err := strconv.Atoi(string(text[at+1:]))
	if err != nil || dimensions < 1 {
		return errors.New("not a model and its dimension")
	}
	*e = Embedding{Model: string(text[:at]), Dimensions: dimensions}
	return nil
}

// Namespaces is a number of namespaces that users share. 0 means that each user has one.
type Namespaces int

// maxNamespaces is the most that a plan of the service has by default ("Pinecone Database limits").
const maxNamespaces = 100_000

// UnmarshalText reads "user" or a number.
func (n *Namespaces) UnmarshalText(text []byte) error {
	if string(text) == "user" {
		*n = 0
		return nil
	}
	number, err := strconv.Atoi(string(text))
	if err != nil || number < 1 || number > maxNamespaces {
		return errors.New("not a number of namespaces")
	}
	*n = Namespaces(number)
	return nil
}
