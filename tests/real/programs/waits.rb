# SPDX-License-Identifier: MIT
# Ruby's threads under its global lock: a queue, a mutex, a pipe, fibers (stacks
# of their own) and a child.
queue = SizedQueue.new(2)
lock = Mutex.new
sum = counted = piped = 0
threads = 3.times.map { Thread.new { 300.times { |i| queue << i } } }
threads += 3.times.map { Thread.new { 300.times { x = queue.pop; lock.synchronize { sum += x } } } }
threads += 4.times.map do
	Thread.new do
		100.times do
			lock.synchronize { counted += 1; sleep 0.0001 if counted % 50 == 0 }
			Thread.pass
		end
	end
end
threads << Thread.new { IO.pipe { |r, w| 100.times { w.write 'x'; piped += r.read(1).size } } }
fiber = Fiber.new { 10.times { |i| File.write('file', i.to_s * 1000); Fiber.yield i } }
last = 5.times.map { fiber.resume }.last
threads.each(&:join)
system('true')
puts "sum #{sum}, counted #{counted}, piped #{piped}, fiber #{last}, child #{$?.exitstatus}"
