// Package forecast works out what a number of users comes to, from measured unit costs, assumptions about the users and
// list prices. Everything that it takes is in the files of docs/scale.
package forecast

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/scale/unitbench"
)

// The files of docs/scale.
const (
	UnitsFile    = "units.json"
	workloadFile = "workload.json"
	pricesFile   = "prices.json"
)

// Input is what a forecast takes.
type Input struct {
	Units    unitbench.Units
	Workload Workload
	Prices   Prices
}

// Workload is what is assumed about the users and the services.
type Workload struct {
	Users                 []float64 `json:"users"`
	SessionsPerUserAndDay float64   `json:"sessionsPerUserAndDay"`
	// DaySessions is how many sessions a user has on a day with the app.
	DaySessions     float64 `json:"daySessions"`
	TurnsPerSession int     `json:"turnsPerSession"`
	// PeakHourShare is how much of a day falls into its busiest hour.
	PeakHourShare         float64 `json:"peakHourShare"`
	DaysPerMonth          float64 `json:"daysPerMonth"`
	StoredMessagesPerUser float64 `json:"storedMessagesPerUser"`
	// IdleShare is how many sessions are left without a word, so that the sweep finds them.
	IdleShare float64 `json:"idleShare"`
	// ColdReadUnitsPerTurn and ColdCallsPerTurn come on top where each turn meets an instance that does not know the
	// session, as it does with many instances (docs/benchmarks.md, "cold").
	ColdReadUnitsPerTurn float64 `json:"coldReadUnitsPerTurn"`
	ColdCallsPerTurn     float64 `json:"coldCallsPerTurn"`
	CachedInputShare     float64 `json:"cachedInputShare"`
	// OutputTokensPerAnswer replace those of the offline model.
	OutputTokensPerAnswer float64 `json:"outputTokensPerAnswer"`
	// ReasoningTokensPerAnswer and ReasoningTokensPerCall, of the background, are billed as output and are in no answer.
	ReasoningTokensPerAnswer float64 `json:"reasoningTokensPerAnswer"`
	ReasoningTokensPerCall   float64 `json:"reasoningTokensPerCall"`
	// CacheWriteShare is how much of the input that is not cached the provider writes to its cache.
	CacheWriteShare float64 `json:"cacheWriteShare"`
	DenseDimensions float64 `json:"denseDimensions"`
	// LogMonths is how long logs are kept. Metrics are those of the functions by name, RouteMetrics those of the HTTP
	// API's routes, AlarmMetrics those that alarms read.
	LogMonths    float64 `json:"logMonths"`
	Metrics      float64 `json:"metrics"`
	RouteMetrics float64 `json:"routeMetrics"`
	AlarmMetrics float64 `json:"alarmMetrics"`
	// Reads are the lists and pages that an app shows.
	Reads     Reads               `json:"reads"`
	Functions map[string]Function `json:"functions"`
}

// DayTurns is how many turns a user has on a day with the app.
func (w Workload) DayTurns() float64 { return w.DaySessions * float64(w.TurnsPerSession) }

// Reads are the calls of an app that only read.
type Reads struct {
	CallsPerSession     float64 `json:"callsPerSession"`
	ReadUnitsPerSession float64 `json:"readUnitsPerSession"`
	BytesPerSession     float64 `json:"bytesPerSession"`
}

// Function is what an invocation takes: how long it waits for others, which is assumed, the CPU time, which was
// measured under the Lambda emulator, and the memory, which is the template's.
type Function struct {
	WaitSeconds float64 `json:"waitSeconds"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	MemoryMB    float64 `json:"memoryMB"`
}

// wholeCPU is the memory, in MB, with which a function has one core. With less it has that part of one (AWS Lambda
// Developer Guide, "Configure Lambda function memory").
const wholeCPU = 1769

// Seconds is how long an invocation takes.
func (f Function) Seconds() float64 { return f.WaitSeconds + f.ComputeMS()/1000 }

// ComputeMS is how many milliseconds of it the function computes.
func (f Function) ComputeMS() float64 { return 1000 * f.CPUSeconds * max(1, wholeCPU/f.MemoryMB) }

// Prices are list prices.
type Prices struct {
	Prices []Price `json:"prices"`
	Peers  []Peer  `json:"peers"`
}

// Price is one list price.
type Price struct {
	Name   string  `json:"name"`
	What   string  `json:"what"`
	USD    float64 `json:"usd"`
	Source string  `json:"source"`
	Date   string  `json:"date"`
}

// Peer is a managed service that does the same work, with the prices that it lists. Without a unit no sum is made of
// them, and the note says why.
type Peer struct {
	Name                       string  `json:"name"`
	Unit                       string  `json:"unit"`
	PerMonth                   float64 `json:"perMonth"`
	PerThousandEvents          float64 `json:"perThousandEvents"`
	PerThousandRecordsAndMonth float64 `json:"perThousandRecordsAndMonth"`
	PerThousandRetrievals      float64 `json:"perThousandRetrievals"`
	PerActiveUserAndMonth      float64 `json:"perActiveUserAndMonth"`
	PerMillionTokens           float64 `json:"perMillionTokens"`
	Note                       string  `json:"note"`
	Source                     string  `json:"source"`
	Date                       string  `json:"date"`
}

// USD is what a peer lists for the month of a size, 0 for one without a unit.
func (p Peer) USD(s Size) float64 {
	if p.Unit == "" {
		return 0
	}
	records := s.StoredMessages / (2 * s.Turns / s.Sessions)
	return p.PerMonth + s.Turns/1000*(p.PerThousandEvents+p.PerThousandRetrievals) +
		records/1000*p.PerThousandRecordsAndMonth + s.Users*p.PerActiveUserAndMonth +
		s.EmbedTokens/million*p.PerMillionTokens
}

// Load reads the files.
func Load(folder fs.FS) (Input, error) {
	var in Input
	for name, into := range map[string]any{
		workloadFile: &in.Workload, pricesFile: &in.Prices, UnitsFile: &in.Units,
	} {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			if name == UnitsFile {
				continue // not measured yet
			}
			return in, fmt.Errorf("read %s: %w", name, err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			return in, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return in, nil
}

// USD returns a price.
func (p Prices) USD(name string) float64 {
	for _, price := range p.Prices {
		if price.Name == name {
			return price.USD
		}
	}
	return math.NaN() // a test finds it
}

// perMillion returns what a number costs at a price of a million.
func (p Prices) perMillion(n float64, name string) float64 { return n * p.USD(name) / million }

// The units of the sizes that prices are for.
const (
	million  = 1e6
	gigabyte = 1 << 30
	kilobyte = 1 << 10
	minute   = 60
	hour     = 3600
)

// Size is the forecast for one number of users, a month unless it says otherwise.
type Size struct {
	Users, SessionsPerDay, Sessions, Turns float64
	Calls, ReadUnits, WriteUnits           float64
	TableGB, StoredMessages                float64
	Invocations, GBSeconds, APICalls       float64
	Vectors, VectorGB                      float64
	IndexReads, IndexWrites                float64 // units of Pinecone
	InputTokens, OutputTokens, EmbedTokens float64
	PeakTokens                             float64 // a minute
	LogGB, EgressGB, Traces                float64
	HotTurns                               float64 // turns a second of one user that its partition bears
	// Executions are the executions at once of each function at the peak.
	Executions map[string]float64
	Money      []Cost

	peakShare float64 // of the month in one second of its busiest hours
}

// Peak is how much of a month's number comes in one second of the busiest hour.
func (s Size) Peak(month float64) float64 { return month * s.peakShare }

// Concurrency is how many executions of all functions there are at once.
func (s Size) Concurrency() float64 {
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(s.Executions)) { // the sum of floats depends on their order
		sum += s.Executions[name]
	}
	return sum
}

// Cost is the money for one part.
type Cost struct {
	Part string
	USD  float64
}

// Total is the money for all parts.
func (s Size) Total() float64 {
	sum := 0.0
	for _, c := range s.Money {
		sum += c.USD
	}
	return sum
}

// TotalPerUser is one user's part of it.
func (s Size) TotalPerUser() float64 { return s.Total() / s.Users }

// WithoutModels is the money without what the models cost.
func (s Size) WithoutModels() float64 {
	without := s.Total()
	for _, c := range s.Money {
		if strings.HasPrefix(c.Part, "OpenAI") {
			without -= c.USD
		}
	}
	return without
}

// StreamShards is about how many shards the table's stream has: one for each partition, of 1,000 write units a second
// or 10 GB.
func (s Size) StreamShards() float64 {
	return math.Ceil(max(1, s.Peak(s.WriteUnits)/partitionWrites, s.TableGB/10))
}

// Total is the use of all functions in one session.
func (in Input) Total() unitbench.Use {
	var sum unitbench.Use
	for _, name := range slices.Sorted(maps.Keys(in.Units.Session)) { // the sum of floats depends on their order
		sum = sum.Plus(in.Units.Session[name])
	}
	return sum
}

// Size works out the forecast for a number of users.
func (in Input) Size(users float64) Size {
	w, use, turns := in.Workload, in.Total(), float64(in.Workload.TurnsPerSession)
	s := Size{
		Users: users, SessionsPerDay: users * w.SessionsPerUserAndDay, StoredMessages: users * w.StoredMessagesPerUser,
		peakShare: w.PeakHourShare / w.DaysPerMonth / hour,
	}
	s.Sessions = s.SessionsPerDay * w.DaysPerMonth
	s.Turns = s.Sessions * turns

	s.Calls = s.Sessions * (use.DynamoDBCalls + turns*w.ColdCallsPerTurn + w.Reads.CallsPerSession)
	s.ReadUnits = s.Sessions * (use.ReadUnits + turns*w.ColdReadUnitsPerTurn + w.Reads.ReadUnitsPerSession)
	s.WriteUnits = s.Sessions * use.WriteUnits
	storedSessions := s.StoredMessages / (2 * turns)
	s.TableGB = storedSessions * (in.Units.TableBytes + in.Units.IndexBytes) / gigabyte
	s.HotTurns = partitionWrites / (in.Units.Session["coach"].WriteUnits / turns)
	in.functions(&s)
	in.index(&s, use, storedSessions)

	answers, background := turns*w.OutputTokensPerAnswer, in.Units.Session["summarize"]
	reasoning := turns*w.ReasoningTokensPerAnswer + background.ModelCalls*w.ReasoningTokensPerCall
	s.InputTokens = s.Sessions * use.InputTokens
	s.OutputTokens = s.Sessions * (answers + background.OutputTokens + reasoning)
	s.EmbedTokens = s.Sessions * use.EmbeddingTokens
	s.PeakTokens = s.Peak(s.Sessions*(use.InputTokens+answers+reasoning)) * minute

	s.LogGB = s.Sessions * use.LogBytes / gigabyte
	s.Traces = min(s.Invocations, w.DaysPerMonth*24*hour) + 0.05*s.Invocations
	dense := (use.IndexQueries + use.Vectors) * w.DenseDimensions * 4
	s.EgressGB = s.Sessions * (use.SentBytes + dense + w.Reads.BytesPerSession + answers*4) / gigabyte
	s.Money = in.money(s)
	return s
}

// functions works out invocations, seconds and executions at once.
func (in Input) functions(s *Size) {
	w, turns := in.Workload, float64(in.Workload.TurnsPerSession)
	perSession := map[string]float64{
		"messages": 2 + w.Reads.CallsPerSession, // a session is opened and completed
		"coach":    turns, "prompt": turns,
		"summarize": in.Units.Session["summarize"].Invocations, "remember": in.Units.Session["remember"].Invocations,
	}
	s.APICalls, s.Executions = s.Sessions*perSession["messages"], map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(perSession)) {
		f, n := w.Functions[name], s.Sessions*perSession[name]
		s.Invocations += n
		s.GBSeconds += n * f.Seconds() * f.MemoryMB / kilobyte
		s.Executions[name] = s.Peak(n) * f.Seconds()
	}
}

// What Pinecone charges at least (Pinecone documentation, "Understanding cost").
const (
	leastQuery   = 0.25 // read units
	unitsPerGB   = 1
	leastWrite   = 5 // write units, one for each KB
	idAndSparses = 100
)

// index works out vectors and units of Pinecone. Each user has a namespace.
func (in Input) index(s *Size, use unitbench.Use, storedSessions float64) {
	bytes := use.VectorBytes/max(use.Vectors, 1) + in.Workload.DenseDimensions*4 + idAndSparses
	s.Vectors = storedSessions * use.Vectors
	s.VectorGB = s.Vectors * bytes / gigabyte
	s.IndexReads = s.Sessions * use.IndexQueries * max(leastQuery, unitsPerGB*s.VectorGB/s.Users)
	perWrite := max(leastWrite, math.Ceil(bytes*use.Vectors/max(use.IndexWrites, 1)/kilobyte))
	s.IndexWrites = s.Sessions * use.IndexWrites * perWrite
}

// chatAndSummaries is the part of what the model of the chat and of the background costs.
const chatAndSummaries = "OpenAI: chat and summaries"

func (in Input) modelUSD(input, output float64) float64 {
	cached := input * in.Workload.CachedInputShare
	written := (input - cached) * in.Workload.CacheWriteShare
	usd := in.Prices.perMillion
	return usd(input-cached-written, "modelInput") + usd(written, "modelCacheWrite") + usd(cached, "modelCached") +
		usd(output, "modelOutput")
}

func (in Input) money(s Size) []Cost {
	w, usd, millions := in.Workload, in.Prices.USD, in.Prices.perMillion
	pinecone := millions(s.IndexReads, "pineconeRead") + millions(s.IndexWrites, "pineconeWrite") +
		s.VectorGB*usd("pineconeStorage")
	return []Cost{
		{"DynamoDB", millions(s.WriteUnits, "dynamodbWrite") + millions(s.ReadUnits, "dynamodbRead") +
			s.TableGB*(usd("dynamodbStorage")+usd("dynamodbBackup"))},
		{"Lambda", millions(s.Invocations, "lambdaRequest") + millions(s.GBSeconds, "lambdaSecond")},
		{"API Gateway", millions(s.APICalls, "apiRequest")},
		{"the chat's gateway and firewall", millions(s.Turns, "chatRequest") + millions(s.Turns, "firewallRequest") +
			usd("firewall")},
		{"Pinecone", max(pinecone, usd("pineconeMinimum"))},
		{chatAndSummaries, in.modelUSD(s.InputTokens, s.OutputTokens)},
		{"OpenAI: embeddings", millions(s.EmbedTokens, "embedding")},
		{"Logs and traces", s.LogGB*(usd("logs")+w.LogMonths*usd("logStorage")) + millions(s.Traces, "trace")},
		{"Metrics, alarms and the dashboard", (w.Metrics+w.RouteMetrics)*usd("metric") + w.AlarmMetrics*usd("alarm") +
			usd("dashboard")},
		{"Data transfer", s.EgressGB * usd("egress")},
	}
}
