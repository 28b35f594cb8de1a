-- One transaction an event: a child of a parent, and where asked a change of the parent's counter in the same one.
-- What deadlocks (1213) is begun anew by sysbench.

sysbench.cmdline.options = {
   parents = {"Children of one of so many parents, chosen at random", 1},
   counted = {"The parent counts its children", false},
   free = {"Rows of a table without a foreign key", false}
}

function thread_init()
   connection = sysbench.sql.driver():connect()
end

function event()
   local parent = sysbench.rand.uniform(1, sysbench.opt.parents)
   local child = sysbench.opt.free and "free" or "children"
   local insert = "INSERT INTO " .. child .. " (parent, v) VALUES (" .. parent .. ", 'a child')"
   if sysbench.opt.counted then
      connection:query("BEGIN")
      connection:query(insert)
      connection:query("UPDATE parents SET n = n + 1 WHERE id = " .. parent)
      connection:query("COMMIT")
   else
      connection:query(insert)
   end
end

function thread_done()
   connection:disconnect()
end
