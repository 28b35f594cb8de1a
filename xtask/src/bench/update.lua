-- One statement an event: an update of one row that all threads want, of one of many, or nothing at all.

sysbench.cmdline.options = {
   rows = {"Update one of so many rows, chosen at random", 1},
   nothing = {"Send DO 1 instead: what a round trip costs", false}
}

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function event()
   if sysbench.opt.nothing then
      connection:query("DO 1")
   else
      local id = sysbench.rand.uniform(1, sysbench.opt.rows)
      connection:query("UPDATE counters SET n = n + 1 WHERE id = " .. id)
   end
end

function thread_done()
   connection:disconnect()
end
