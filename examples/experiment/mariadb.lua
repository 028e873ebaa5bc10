-- SPDX-License-Identifier: MIT
-- sysbench's load of mariadb.yaml: each event adds 1 to one of 2000 rows and commits; its time, in ns, goes into a
-- file of the thread.
local ffi = require("ffi")
ffi.cdef[[
typedef struct { long s, ns; } tarry_time;
int clock_gettime(int clock, tarry_time *t);
]]
local rows = 2000
local at = ffi.new("tarry_time")

local function now()
	ffi.C.clock_gettime(1, at)
	return tonumber(at.s) * 1000000000 + tonumber(at.ns)
end

function prepare()
	local connection = sysbench.sql.driver():connect()
	connection:query("create table counter (id int primary key, n int not null) engine = innodb")
	local values = {}
	for i = 1, rows do
		values[i] = "(" .. i .. ", 0)"
	end
	connection:query("insert into counter values " .. table.concat(values, ", "))
	connection:disconnect()
end

sysbench.cmdline.commands = { prepare = { prepare } }

function thread_init()
	connection = sysbench.sql.driver():connect()
	out = io.open(os.getenv("TARRY_EXPERIMENT_LATENCIES") .. "." .. sysbench.tid, "w")
end

function event()
	local from = now()
	connection:query("update counter set n = n + 1 where id = " .. sysbench.rand.uniform(1, rows))
	out:write(string.format("%.0f\n", now() - from))
end

function thread_done()
	out:close()
	connection:disconnect()
end
