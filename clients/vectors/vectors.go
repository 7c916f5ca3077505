// Package vectors serves the test vectors of the clients: for each, what the server is asked and what it answers, with
// cuts, waits and problems, and what the client gives its app in the end. The file vectors.json is all that the clients
// have in common, so each of them plays the whole of it.
//
//	GET  /vectors               the file
//	POST /runs/{index}          begins a run of one vector, and answers the base address for the client
//	GET  /runs/{run}/verdict    what the client sent otherwise than the vector says: {"faults": [...]}
package vectors

import (
	_ "embed" // the vectors
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

//go:embed vectors.json
var file []byte

// vector is the part of a vector that the server reads.
type vector struct {
	Name      string
	Exchanges []exchange
}

// Server plays the vectors. It is safe for concurrent use.
type Server struct {
	vectors []vector
	mux     *http.ServeMux

	mu   sync.Mutex
	runs []*run
}

// New returns a server of the file of vectors.
func New() (*Server, error) {
	s := &Server{mux: http.NewServeMux()}
	if err := json.Unmarshal(file, &s.vectors); err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	s.mux.HandleFunc("GET /vectors", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(file) })
	s.mux.HandleFunc("POST /runs/{index}", s.begin)
	s.mux.HandleFunc("GET /runs/{run}/verdict", s.verdict)
	s.mux.HandleFunc("/play/{run}/", s.play)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) begin(w http.ResponseWriter, r *http.Request) {
	index, err := strconv.Atoi(r.PathValue("index"))
	if err != nil || index < 0 || index >= len(s.vectors) {
		http.Error(w, "no such vector", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.runs = append(s.runs, &run{vector: s.vectors[index]})
	id := strconv.Itoa(len(s.runs) - 1)
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]string{"run": id, "base": "http://" + r.Host + "/play/" + id})
}

func (s *Server) run(r *http.Request) *run {
	id, err := strconv.Atoi(r.PathValue("run"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || id < 0 || id >= len(s.runs) {
		return nil
	}
	return s.runs[id]
}

func (s *Server) verdict(w http.ResponseWriter, r *http.Request) {
	played := s.run(r)
	if played == nil {
		http.Error(w, "no such run", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string][]string{"faults": played.verdict()})
}

func (s *Server) play(w http.ResponseWriter, r *http.Request) {
	played := s.run(r)
	if played == nil {
		http.Error(w, "no such run", http.StatusNotFound)
		return
	}
	e, err := played.take(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	e.Answer.write(w, r)
}
